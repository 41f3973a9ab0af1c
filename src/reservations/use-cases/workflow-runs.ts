/** Brings the workflow run of a reservation or a hold in line with its record. */

import type { Hold } from "../../holds/rules/hold.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import type { Deps } from "../ports/deps.ts";
import { pendingStartRef } from "../ports/records.ts";
import type { PendingStart, RecordName, ReservationName } from "../ports/reservations.ts";
import type { Reservation } from "../rules/reservation.ts";
import { nameOf } from "./all-reservations.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows" | "clock">;

/** The mark of one call: a later mark of the same record has another version. */
interface StartMark {
  readonly ref: Ref<"pendingStart">;
  readonly version: number;
  /** Whether the record was marked before, so that its run may not have been started. */
  readonly wasMarked: boolean;
}

/** Marks a reservation that is about to be written, or a hold whose run may be out of line. */
export function markStart(
  { engine }: Pick<Deps, "engine">,
  name: RecordName & { readonly deadline?: number | undefined },
): Promise<StartMark> {
  const { deadline } = name;
  const ref = pendingStartRef(name);
  return engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref],
    deadline,
    decide(tx, { wall }) {
      const wasMarked = tx.get(ref) !== undefined;
      // It begins at the time, so that what deletes an earlier mark never meets this one.
      const version = Math.max(wall, tx.recordVersion(ref) + 1);
      tx.put(ref, { ...nameOf(name), time: wall }, version);
      return { ref, version: tx.recordVersion(ref), wasMarked };
    },
  });
}

/** Deletes the mark of a call, unless another call has marked the record since. */
export function withdrawMark(
  { engine }: Pick<Deps, "engine">,
  { ref, version }: Pick<StartMark, "ref" | "version">,
): Promise<void> {
  return engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: undefined,
    decide(tx) {
      if (tx.recordVersion(ref) === version) tx.delete(ref);
    },
  });
}

/** Deletes a mark that was read, unless the record was marked again since. */
export async function endMark(deps: Pick<Deps, "engine">, mark: PendingStart): Promise<void> {
  await changeRecord(deps, { ref: pendingStartRef(mark) }, (found) =>
    found?.time === mark.time ? undefined : found,
  );
}

/** Brings the run of a record in line with it, and starts one that is missing. */
async function syncRun(deps: SyncDeps, record: Reservation | Hold): Promise<void> {
  const { timeZone } = await deps.programs.get(record.programId);
  if ("holdId" in record) await deps.workflows.refreshHold(record, timeZone);
  else if (record.state === "PENDING") await deps.workflows.refreshReservation(record, timeZone);
  else if (record.state === "CANCELLED") await deps.workflows.cancelReservationRun(record);
}

/** Starts the run of a marked record that may have none, or tells it what has changed. */
export function startMarked(deps: SyncDeps, record: Reservation | Hold): Promise<void> {
  return isUnchanged(record) ? startRun(deps, record) : syncRun(deps, record);
}

/** Whether a record is as it was created. */
const isUnchanged = (record: Reservation | Hold): boolean =>
  "holdId" in record
    ? record.state === "HELD" && record.captures.length === 0
    : record.state === "PENDING" && record.lastChange === undefined;

/**
 * Writes a reservation under a mark, and brings its run in line in the background. Where the
 * process ends before that, the mark is left, and the reconciler does it.
 */
export async function writeMarked<W extends Written>(
  deps: SyncDeps & Pick<Deps, "background">,
  name: ReservationName & { readonly deadline?: number | undefined },
  write: () => Promise<W>,
): Promise<W> {
  const mark = await markStart(deps, name);
  let written: W;
  try {
    written = await write();
  } catch (error) {
    // A refusal has written nothing. The mark of an earlier call is still needed.
    const isRefusal = error instanceof DomainError && !error.retryable;
    if (isRefusal && !mark.wasMarked) deps.background(() => withdrawMark(deps, mark));
    throw error;
  }
  const { record, isChanged } = written;
  // The run has what an earlier call has written if no mark was left of that call.
  const isInLine = !isChanged && !mark.wasMarked;
  deps.background(async () => {
    if (!isInLine) await startMarked(deps, record);
    await withdrawMark(deps, mark);
  });
  return written;
}

/** What a call has written, or has found written. */
interface Written {
  readonly record: Reservation;
  readonly isChanged: boolean;
}

/**
 * Starts the run of a new hold, or tells the run of a hold what has changed, in the background. The
 * hold is marked only while Temporal does not answer: before the task when the last call had no
 * answer, because tasks that wait for Temporal may be dropped or end with their process, and
 * otherwise when the task has failed.
 */
export async function syncInBackground(
  deps: SyncDeps & Pick<Deps, "background">,
  hold: Hold,
): Promise<void> {
  const isAway = deps.workflows.isAway();
  // Without this mark the task sets one, so it must not fail the call.
  let mark = isAway ? await markStart(deps, hold).catch(() => undefined) : undefined;
  deps.background(async () => {
    try {
      await startMarked(deps, hold);
    } catch (error) {
      mark ??= await markStart(deps, hold);
      throw error;
    }
    if (mark) await withdrawMark(deps, mark);
  });
}

/** Starts the run of a record that has none. */
export async function startRun(deps: SyncDeps, record: Reservation | Hold): Promise<void> {
  const { timeZone } = await deps.programs.get(record.programId);
  const { wall } = await deps.clock.now();
  if ("holdId" in record) await deps.workflows.startHold(record, timeZone, wall);
  else await deps.workflows.startReservation(record, timeZone, wall);
}
