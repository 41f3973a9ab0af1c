/** Brings the workflow run of a reservation in line with its record. */
import { type Reservation, synced } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { pendingStartRef, type Ref, reservationRef } from "../ports/records.ts";
import type { ReservationName } from "../ports/reservations.ts";
import { changeRecord } from "../shared/change-record.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows">;

/** The mark of one call: a later mark of the same reservation has another version. */
interface StartMark {
  readonly ref: Ref<"pendingStart">;
  readonly version: number;
  /** Whether the reservation was marked before, so that its run may not have been started. */
  readonly wasMarked: boolean;
}

/** Marks a reservation that is about to be written, until `startMarked` has started its run. */
export function markStart(
  { engine }: Pick<Deps, "engine">,
  name: ReservationName & { readonly deadline?: number | undefined },
): Promise<StartMark> {
  const { programId, reservationId, deadline } = name;
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
      tx.put(ref, { programId, reservationId, time: wall }, version);
      return { ref, version: tx.recordVersion(ref), wasMarked };
    },
  });
}

/** Deletes a mark, unless another call has marked the reservation since. */
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

/** Starts the run of a marked reservation, unless it has one or needs none, and ends the mark. */
export async function startMarked(deps: SyncDeps, reservation: Reservation): Promise<void> {
  if (reservation.unsynced) await syncRun(deps, reservation);
  else if (reservation.state === "PENDING") await startRun(deps, reservation);
  await changeRecord(deps, { ref: pendingStartRef(reservation) }, () => undefined);
}

/** Starts the run of a reservation that has none. */
export async function startRun(deps: SyncDeps, reservation: Reservation): Promise<void> {
  const { timeZone } = await deps.programs.get(reservation.programId);
  await deps.workflows.startReservation(reservation, timeZone);
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
