/** Brings the workflow run of a reservation or a hold in line with its record. */

import type { ReservationName } from "../../due/ports/due.ts";
import { markStart, removeMark } from "../../due/use-cases/marks.ts";
import type { Hold } from "../../holds/rules/hold.ts";
import { startHoldRun, startMarkedHold } from "../../holds/use-cases/hold-runs.ts";
import type { CallLimits } from "../../platform/ports/call.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import type { Reservation } from "../rules/reservation.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows" | "clock">;

/** Brings the run of a reservation in line with it, and starts one that is missing. */
async function syncRun(deps: SyncDeps, record: Reservation): Promise<void> {
  const { timeZone } = await deps.programs.get(record.programId);
  if (record.state === "PENDING") await deps.workflows.refreshReservation(record, timeZone);
  else if (record.state === "CANCELLED") await deps.workflows.cancelReservationRun(record);
}

/** Starts the run of a marked record that may have none, or signals the change to it. */
export function startMarked(deps: SyncDeps, record: Reservation | Hold): Promise<void> {
  if ("holdId" in record) return startMarkedHold(deps, record);
  // As it was created.
  const isUnchanged = record.state === "PENDING" && record.lastChange === undefined;
  return isUnchanged ? startRun(deps, record) : syncRun(deps, record);
}

/**
 * Writes a reservation under a mark, and brings its run in line in the background. Where the
 * process ends before that, the mark is left, and the reconciler does it.
 */
export async function writeMarked<W extends Written>(
  deps: SyncDeps & Pick<Deps, "background">,
  call: ReservationName & CallLimits,
  write: () => Promise<W>,
): Promise<W> {
  const mark = await markStart(deps, call, call);
  let written: W;
  try {
    written = await write();
  } catch (error) {
    // A refusal has written nothing. The mark of an earlier call is still needed.
    const isRefusal = error instanceof DomainError && !error.retryable;
    if (isRefusal && !mark.wasMarked) deps.background(() => removeMark(deps, mark));
    throw error;
  }
  const { record, isChanged } = written;
  // The run has what an earlier call has written if no mark was left of that call.
  const isInLine = !isChanged && !mark.wasMarked;
  deps.background(async () => {
    if (!isInLine) await startMarked(deps, record);
    await removeMark(deps, mark);
  });
  return written;
}

/** The record that a call has written, or has found written. */
interface Written {
  readonly record: Reservation;
  readonly isChanged: boolean;
}

/** Starts the run of a record that has none. */
export async function startRun(deps: SyncDeps, record: Reservation | Hold): Promise<void> {
  if ("holdId" in record) return startHoldRun(deps, record);
  const { timeZone } = await deps.programs.get(record.programId);
  const { wall } = await deps.clock.now();
  await deps.workflows.startReservation(record, timeZone, wall);
}
