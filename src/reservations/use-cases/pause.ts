/** The use cases that pause and resume the reservations of a program. */

import type { CallLimits } from "../../platform/ports/call.ts";
import { displayCaller } from "../../platform/words/caller.ts";
import { type Program, pauseReservations, resumeReservations } from "../../points/rules/program.ts";
import { changeProgram } from "../../points/use-cases/programs/change-program.ts";
import type { Deps } from "../ports/deps.ts";
import type { ChangeRequest } from "../rules/reservation.ts";

/** The program that a call pauses or resumes. */
interface ProgramName extends CallLimits {
  readonly programId: string;
}

/**
 * Pauses the reservations of a program: what falls due from now on is granted after a resume. A
 * paused program keeps its first pause. Refusal: PROGRAM_NOT_FOUND.
 */
export const pauseProgramReservations = (
  deps: Pick<Deps, "engine">,
  input: ProgramName & ChangeRequest,
): Promise<Program> =>
  changeProgram(deps, input, (program, { wall }) =>
    pauseReservations(program, { time: wall, caller: input.caller, reason: input.reason }),
  );

/**
 * Ends the pause, and signals the runs that wait for it, also when there was none: an earlier call
 * may have failed to signal them. Temporal's list of batch operations says who resumed the program,
 * and why, as the act does. Refusal: PROGRAM_NOT_FOUND.
 */
export async function resumeProgramReservations(
  deps: Pick<Deps, "engine" | "workflows" | "background">,
  input: ProgramName & ChangeRequest,
): Promise<Program> {
  const { programId, caller, reason } = input;
  const program = await changeProgram(deps, input, (before, { wall }) =>
    resumeReservations(before, wall),
  );
  const because = reason === "" ? "" : ` (${reason})`;
  const resumed = `the program ${programId} is resumed by ${displayCaller(caller)}${because}`;
  deps.background(() => deps.workflows.refreshPaused(programId, resumed));
  return program;
}

/**
 * Counts the due reservations of each paused program by their runs, which Temporal lists: one
 * request a program, however many wait. It lags behind by moments. Throws WORKFLOWS_UNAVAILABLE.
 */
export async function countPausedReservations(
  { workflows }: Pick<Deps, "workflows">,
  programs: readonly Program[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { programId, reservationPause } of programs) {
    if (reservationPause) counts.set(programId, await workflows.countPaused(programId));
  }
  return counts;
}
