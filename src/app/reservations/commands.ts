import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import {
  cancel,
  checkExecuteTime,
  type Reservation,
  reschedule,
  retry,
  type VisibleState,
  visibleState,
} from "../../domain/reservation.ts";
import { requestHash } from "../idempotency.ts";
import {
  type Deps,
  type Page,
  type PageRequest,
  reservationRef,
  type Window,
} from "../ports/deps.ts";

/** A reservation and the state in which a reader sees it. */
export interface VisibleReservation {
  readonly row: Reservation;
  readonly state: VisibleState;
}

/** Names one reservation, and how long the caller waits. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
  readonly deadline?: number | undefined;
}

/**
 * Writes the row and starts its workflow; the answer waits for the row alone. Refusals:
 * PROGRAM_NOT_FOUND, INVALID_REQUEST more than five years ahead, ID_REUSED.
 */
export async function createReservation(
  deps: Deps,
  input: ReservationName & {
    readonly userId: string;
    readonly points: number;
    readonly reason: string;
    readonly executeTime: Instant;
    readonly caller: string;
  },
): Promise<VisibleReservation & { replayed: boolean }> {
  const { programId, reservationId, userId, points, reason, executeTime, caller } = input;
  await deps.programs.get(programId);
  const hash = requestHash("reserve", caller, { user: userId, points, reason, executeTime });
  const ref = reservationRef(programId, reservationId);
  const created = await deps.engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref],
    deadline: input.deadline,
    decide(tx, { wall }) {
      const existing = tx.get(ref);
      if (existing && existing.hash !== hash) {
        throw new DomainError("ID_REUSED", "this reservation_id was used for another request");
      }
      if (existing) return { ...visible(existing, wall), replayed: true };
      checkExecuteTime(executeTime, wall);
      const times = { executeTime, createTime: wall, updateTime: wall };
      const ids = { programId, reservationId, userId };
      const what = { points, reason, caller, hash };
      const row: Reservation = { ...ids, ...what, ...times, state: "PENDING" };
      tx.put(ref, row);
      return { ...visible(row, wall), replayed: false };
    },
  });
  const { row } = created;
  if (row.state === "PENDING") deps.background(() => startRun(deps, row));
  return created;
}

/** Cancels until the grant has committed. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE. */
export async function cancelReservation(
  deps: Deps,
  name: ReservationName,
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, cancel);
  deps.background(() => refreshRun(deps, changed.row, false));
  return changed;
}

/**
 * Moves a pending reservation. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE, INVALID_REQUEST more
 * than five years ahead.
 */
export async function rescheduleReservation(
  deps: Deps,
  name: ReservationName & { readonly executeTime: Instant },
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, (row, now) => reschedule(row, name.executeTime, now));
  deps.background(() => refreshRun(deps, changed.row, true));
  return changed;
}

/** Lets a failed reservation try again, in a new run. Refusals as for cancelling. */
export async function retryReservation(
  deps: Deps,
  name: ReservationName,
): Promise<VisibleReservation> {
  const changed = await changeRow(deps, name, retry);
  deps.background(() => startRun(deps, changed.row));
  return changed;
}

/** Starts the reservation's workflow; one that runs already stays. */
export async function startRun(deps: Deps, row: Reservation): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.startReservation(row, timeZone);
}

/** Makes the reservation's workflow look again; starts it when `start` is set. */
export async function refreshRun(deps: Deps, row: Reservation, start: boolean): Promise<void> {
  const { timeZone } = await deps.programs.get(row.programId);
  await deps.workflows.signalRefresh(row, start, timeZone);
}

/** Refusal: RESERVATION_NOT_FOUND. */
export async function getReservation(
  deps: Deps,
  name: ReservationName,
): Promise<VisibleReservation> {
  const found = await deps.reader.get(reservationRef(name.programId, name.reservationId));
  if (!found) throw notFound(name.reservationId);
  const { wall } = await deps.clock.now();
  return visible(found.value, wall);
}

/**
 * By execute time: a user's, or those in a state. A pending one whose time has come is listed as
 * PROCESSING. The lists lag behind by moments. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a
 * bad cursor.
 */
export async function listReservations(
  deps: Deps,
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

function changeRow(
  deps: Deps,
  { programId, reservationId, deadline }: ReservationName,
  change: (row: Reservation, now: Instant) => Reservation,
): Promise<VisibleReservation> {
  const ref = reservationRef(programId, reservationId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx, { wall }) {
      const row = tx.get(ref);
      if (!row) throw notFound(reservationId);
      const changed = change(row, wall);
      if (changed !== row) tx.put(ref, changed);
      return visible(changed, wall);
    },
  });
}

const visible = (row: Reservation, now: Instant): VisibleReservation => ({
  row,
  state: visibleState(row, now),
});

const notFound = (id: string) =>
  new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${id}`);
