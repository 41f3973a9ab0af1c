import type { Instant } from "../../domain/month.ts";
import type { VisibleState } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest, Window } from "../ports/pages.ts";
import { reservationRef } from "../ports/records.ts";
import {
  type ReservationName,
  reservationNotFound,
  type VisibleReservation,
  visible,
} from "./visible.ts";

/** Refusal: RESERVATION_NOT_FOUND. */
export async function getReservation(
  deps: Pick<Deps, "reader" | "clock">,
  name: ReservationName,
): Promise<VisibleReservation> {
  const found = await deps.reader.get(reservationRef(name.programId, name.reservationId));
  if (!found) throw reservationNotFound(name.reservationId);
  const { wall } = await deps.clock.now();
  return visible(found.value, wall);
}

/**
 * By execute time: a user's, or those in a state. A pending one whose time has come is listed as
 * PROCESSING. The lists lag behind by moments. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a
 * bad cursor.
 */
export async function listReservations(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  programId: string,
  of: { readonly userId: string } | { readonly state: VisibleState },
  window: Window,
  page: PageRequest,
): Promise<Page<VisibleReservation>> {
  await deps.programs.get(programId);
  const { wall } = await deps.clock.now();
  const asked = "state" in of ? narrowed(of.state, window, wall) : window;
  const isEmpty = asked.start !== undefined && asked.end !== undefined && asked.start >= asked.end;
  // With a cursor the reader answers: it refuses one that no list gave.
  if (isEmpty && page.cursor === undefined) return { items: [] };
  const rows =
    "userId" in of
      ? await deps.reader.reservationsOfUser({ programId, userId: of.userId }, asked, page)
      : await deps.reader.reservationsInState(programId, storedState(of.state), asked, page);
  return { ...rows, items: rows.items.map((row) => visible(row, wall)) };
}

const storedState = (state: VisibleState) => (state === "PROCESSING" ? "PENDING" : state);

/** PENDING and PROCESSING are one state of the row, told apart by whether its time has come. */
function narrowed(state: VisibleState, { start, end }: Window, now: Instant): Window {
  if (state === "PENDING") return { start: Math.max(start ?? 0, now + 1), end };
  if (state === "PROCESSING") return { start, end: Math.min(end ?? now + 1, now + 1) };
  return { start, end };
}
