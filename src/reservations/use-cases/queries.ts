/** The use cases that read reservations. */

import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import type { ReservationFilter } from "../ports/reservations.ts";
import type { OpenState } from "../rules/reservation.ts";
import {
  type ReservationCall,
  reservationNotFound,
  type VisibleReservation,
  visible,
} from "./visible-reservation.ts";

/** A state by which reservations are listed. */
export type ListedState = OpenState | "PROCESSING";

/** Reads one reservation. Refusal: RESERVATION_NOT_FOUND. */
export async function getReservation(
  deps: Pick<Deps, "reader" | "clock">,
  name: ReservationCall,
): Promise<VisibleReservation> {
  const found = await deps.reader.get(reservationRef(name.programId, name.reservationId));
  if (!found) throw reservationNotFound(name.reservationId);
  const { wall } = await deps.clock.now();
  return visible(found.value, wall);
}

/**
 * Lists the reservations of a user, or those in a state, by execute time. A pending reservation
 * whose time has come is listed as PROCESSING. The lists lag behind by moments. With a prefix of
 * the reason, pages may be short or empty while there are more. Refusals: PROGRAM_NOT_FOUND,
 * INVALID_REQUEST for a bad cursor.
 */
export async function listReservations(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  programId: string,
  of: { readonly userId: string } | { readonly state: ListedState },
  filter: ReservationFilter,
  page: PageRequest,
): Promise<Page<VisibleReservation>> {
  // A copy may have fewer shards than the servers that reserve meanwhile.
  const program = await ("state" in of
    ? deps.programs.read(programId)
    : deps.programs.get(programId));
  const { wall } = await deps.clock.now();
  const range = "state" in of ? { ...filter, ...narrowed(of.state, filter, wall) } : filter;
  const isEmpty = range.start !== undefined && range.end !== undefined && range.start >= range.end;
  // A page with a cursor is always read, because the reader validates the cursor.
  if (isEmpty && page.cursor === undefined) return { items: [] };
  const found =
    "userId" in of
      ? await deps.reader.reservationsOfUser({ programId, userId: of.userId }, range, page)
      : await deps.reader.reservationsInState(program, storedState(of.state), range, page);
  return { ...found, items: found.items.map((reservation) => visible(reservation, wall)) };
}

/** PENDING and PROCESSING are one state of the record, and only the execute time separates them. */
function narrowed(state: ListedState, { start, end }: Window, now: Instant): Window {
  if (state === "PENDING") return { start: Math.max(start ?? 0, now + 1), end };
  if (state === "PROCESSING") return { start, end: Math.min(end ?? now + 1, now + 1) };
  return { start, end };
}

const storedState = (state: ListedState): OpenState => (state === "PROCESSING" ? "PENDING" : state);
