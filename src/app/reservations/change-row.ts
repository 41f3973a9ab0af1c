/** Changes the row of a reservation in one transaction. */
import type { Instant } from "../../domain/month.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import {
  type ReservationName,
  reservationNotFound,
  type VisibleReservation,
  visible,
} from "./visible.ts";
import { syncRun } from "./workflow-runs.ts";

/**
 * Writes what `change` makes of the row; nothing when that is the same row. Brings its workflow
 * run in line in the background. Refusals: RESERVATION_NOT_FOUND, and those of `change`.
 */
export async function changeRow(
  deps: Pick<Deps, "engine" | "programs" | "workflows" | "background">,
  { programId, reservationId, deadline }: ReservationName,
  change: (row: Reservation, now: Instant) => Reservation,
): Promise<VisibleReservation & { readonly isChanged: boolean }> {
  const ref = reservationRef(programId, reservationId);
  const result = await deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx, { wall }) {
      const row = tx.get(ref);
      if (!row) throw reservationNotFound(reservationId);
      const changed = change(row, wall);
      const isChanged = changed !== row;
      if (isChanged) tx.put(ref, changed);
      return { ...visible(changed, wall), isChanged };
    },
  });
  if (result.row.unsynced) deps.background(() => syncRun(deps, result.row));
  return result;
}
