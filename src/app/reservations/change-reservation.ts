/** Changes the record of a reservation in one transaction. */
import type { Reservation } from "../../domain/reservation.ts";
import type { Now } from "../ports/clock.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";
import {
  type ReservationCall,
  reservationNotFound,
  type VisibleReservation,
  visible,
} from "./visible-reservation.ts";
import { syncRun } from "./workflow-runs.ts";

/**
 * Writes what `change` makes of the reservation; nothing when it returns the same object. Brings
 * its workflow run in line in the background. Refusals: RESERVATION_NOT_FOUND, and those of
 * `change`.
 */
export async function changeReservation(
  deps: Pick<Deps, "engine" | "programs" | "workflows" | "clock" | "background">,
  { programId, reservationId, validateOnly, deadline }: ReservationCall,
  change: (reservation: Reservation, now: Now) => Reservation,
): Promise<VisibleReservation & { readonly isChanged: boolean }> {
  const { record, isChanged, now } = await changeRecord(
    deps,
    { ref: reservationRef(programId, reservationId), validateOnly, deadline },
    (reservation, now) => {
      if (!reservation) throw reservationNotFound(reservationId);
      return change(reservation, now);
    },
  );
  if (record.unsynced && !validateOnly) deps.background(() => syncRun(deps, record));
  return { ...visible(record, now.wall), isChanged };
}
