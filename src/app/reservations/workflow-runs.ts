/** Brings the workflow run of a reservation in line with its record. */
import { type Reservation, synced } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows">;

/** Starts the run of a new reservation. */
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
