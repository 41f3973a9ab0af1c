/** Brings the workflow run of a reservation in line with its record. */
import { type Reservation, synced } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { pendingStartRef, reservationRef } from "../ports/records.ts";
import type { ReservationName } from "../ports/reservations.ts";
import { changeRecord } from "../shared/change-record.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows">;

/** Marks a reservation that is about to be written, until `startMarked` has started its run. */
export async function markStart(
  deps: Pick<Deps, "engine">,
  name: ReservationName & { readonly deadline?: number | undefined },
): Promise<void> {
  const { programId, reservationId, deadline } = name;
  const ref = pendingStartRef(name);
  await deps.engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref],
    deadline,
    // A mark that is there already is written again, so that nobody deletes it as an old one. Its
    // first version is the time: a deletion that arrives late never meets a later mark.
    decide: (tx, { wall }) => tx.put(ref, { programId, reservationId, time: wall }, wall),
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
      found.updateTime === sent.updateTime;
    return isSame && found.unsynced ? synced(found) : found;
  });
}
