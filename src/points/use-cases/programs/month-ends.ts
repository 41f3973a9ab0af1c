/** The use cases that keep the outcomes of month ends, and say which programs are behind. */

import type { Deps } from "../../ports/deps.ts";
import type { MonthEndCensus } from "../../ports/observers.ts";
import { type MonthEnd, monthsBehind, type Program, withMonthEnd } from "../../rules/program.ts";
import { changeProgram } from "./change-program.ts";

/** Keeps the outcome of a sweep that has come to all accounts. Refusal: PROGRAM_NOT_FOUND. */
export async function recordMonthEnd(
  deps: Pick<Deps, "engine">,
  programId: string,
  monthEnd: MonthEnd,
): Promise<void> {
  await changeProgram(deps, { programId }, (program) => withMonthEnd(program, monthEnd));
}

/**
 * Reads how far the month ends of programs are. One that fails is left out: this process may not
 * know its time zone.
 */
export async function readMonthEnds(
  { clock }: Pick<Deps, "clock">,
  programs: readonly Program[],
  onFailed: (programId: string, error: unknown) => void,
): Promise<MonthEndCensus> {
  const { calendar } = await clock.now();
  const behind = new Map<string, number>();
  const failedAccounts = new Map<string, number>();
  for (const program of programs) {
    const { programId, monthEnd } = program;
    failedAccounts.set(programId, monthEnd?.failedCount ?? 0);
    try {
      behind.set(programId, monthsBehind(program, calendar));
    } catch (error) {
      onFailed(programId, error);
    }
  }
  return { behind, failedAccounts };
}
