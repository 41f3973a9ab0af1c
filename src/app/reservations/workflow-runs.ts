/** Brings the workflow run of a reservation or a hold in line with its record. */
import type { Hold } from "../../domain/hold.ts";
import { type Reservation, synced } from "../../domain/reservation.ts";
import { refreshHoldRun, startHoldRun } from "../holds/start-run.ts";
import type { Deps } from "../ports/deps.ts";
import { pendingStartRef, type Ref, reservationRef } from "../ports/records.ts";
import type { PendingStart, RecordName } from "../ports/reservations.ts";
import { changeRecord } from "../shared/change-record.ts";
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

/** Starts the run of a marked record, unless it has one or needs none. */
export async function startMarked(deps: SyncDeps, record: Reservation | Hold): Promise<void> {
  if ("holdId" in record) {
    if (record.state === "HELD") await startHoldRun(deps, record);
    // A run that was there already reads what has changed.
    await refreshHoldRun(deps, record);
  } else if (record.unsynced) await syncRun(deps, record);
  else if (record.state === "PENDING") await startRun(deps, record);
}

/**
 * Brings the run of a hold in line with its record in the background, by `sync`. The hold is marked
 * only while Temporal does not answer: before the task when the last call had no answer, because
 * tasks that wait for Temporal may be dropped or end with their process, and otherwise when the
 * task has failed. A marked hold may have no run yet, so its run is started as well.
 */
export async function syncInBackground(
  deps: SyncDeps & Pick<Deps, "background">,
  hold: Hold,
  sync: () => Promise<void>,
): Promise<void> {
  const isAway = deps.workflows.isAway();
  // Without this mark the task sets one, so it must not fail the call.
  let mark = isAway ? await markStart(deps, hold).catch(() => undefined) : undefined;
  deps.background(async () => {
    try {
      await (mark ? startMarked(deps, hold) : sync());
    } catch (error) {
      mark ??= await markStart(deps, hold);
      throw error;
    }
    if (mark) await withdrawMark(deps, mark);
  });
}

/** Starts the run of a reservation that has none. */
export async function startRun(deps: SyncDeps, reservation: Reservation): Promise<void> {
  const { timeZone } = await deps.programs.get(reservation.programId);
  await deps.workflows.startReservation(reservation, timeZone, (await deps.clock.now()).wall);
  await confirmSync(deps, reservation);
}

/** Refreshes the run of a reservation whose record has changed, or requests its cancellation. */
export async function syncRun(deps: SyncDeps, reservation: Reservation): Promise<void> {
  if (reservation.state === "CANCELLED") {
    await deps.workflows.cancelReservationRun(reservation);
  } else if (reservation.state === "PENDING") {
    const { timeZone } = await deps.programs.get(reservation.programId);
    await deps.workflows.refreshReservation(reservation, timeZone);
  }
  await confirmSync(deps, reservation);
}

/** Marks the record as synced, unless it has changed again. */
async function confirmSync(deps: SyncDeps, sent: Reservation): Promise<void> {
  if (!sent.unsynced) return;
  const ref = reservationRef(sent.programId, sent.reservationId);
  await changeRecord(deps, { ref }, (found) => {
    const isSame =
      found?.state === sent.state &&
      found.executeTime === sent.executeTime &&
      found.points === sent.points &&
      found.updateTime === sent.updateTime;
    return isSame && found.unsynced ? synced(found) : found;
  });
}
