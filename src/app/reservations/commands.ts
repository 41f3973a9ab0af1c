import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import {
  cancel,
  checkExecuteTime,
  type Reservation,
  reschedule,
  retry,
  type SeenState,
  seenState,
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
export interface SeenReservation {
  readonly row: Reservation;
  readonly state: SeenState;
}

/** Names one reservation, and how long the caller waits. */
export interface ReservationName {
  readonly program: string;
  readonly id: string;
  readonly deadline?: number | undefined;
}

/**
 * Writes the row and starts its workflow; the answer waits for the row alone. Refusals:
 * PROGRAM_NOT_FOUND, INVALID_REQUEST more than five years ahead, ID_REUSED.
 */
export async function createReservation(
  deps: Deps,
  input: ReservationName & {
    readonly user: string;
    readonly points: number;
    readonly reason: string;
    readonly executeTime: Instant;
    readonly caller: string;
  },
): Promise<SeenReservation & { replayed: boolean }> {
  const { program, id, user, points, reason, executeTime, caller } = input;
  await deps.programs.get(program);
  const hash = requestHash("reserve", caller, { user, points, reason, executeTime });
  const ref = reservationRef(program, id);
  const created = await deps.engine.run({
    key: ref,
    reads: [],
    absent: [ref],
    deadline: input.deadline,
    decide(view, { wall }) {
      const existing = view.get(ref);
      if (existing && existing.hash !== hash) {
        throw new DomainError("ID_REUSED", "this reservation_id was used for another request");
      }
      if (existing) return { ...seen(existing, wall), replayed: true };
      checkExecuteTime(executeTime, wall);
      const times = { executeTime, createTime: wall, updateTime: wall };
      const what = { program, id, user, points, reason, caller, hash };
      const row: Reservation = { ...what, ...times, state: "PENDING" };
      view.put(ref, row);
      return { ...seen(row, wall), replayed: false };
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
): Promise<SeenReservation> {
  const changed = await changeRow(deps, name, cancel);
  deps.background(() => wakeRun(deps, changed.row, false));
  return changed;
}

/**
 * Moves a pending reservation. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE, INVALID_REQUEST more
 * than five years ahead.
 */
export async function rescheduleReservation(
  deps: Deps,
  name: ReservationName & { readonly executeTime: Instant },
): Promise<SeenReservation> {
  const changed = await changeRow(deps, name, (row, now) => reschedule(row, name.executeTime, now));
  deps.background(() => wakeRun(deps, changed.row, true));
  return changed;
}

/** Lets a failed reservation try again, in a new run. Refusals as for cancelling. */
export async function retryReservation(
  deps: Deps,
  name: ReservationName,
): Promise<SeenReservation> {
  const changed = await changeRow(deps, name, retry);
  deps.background(() => startRun(deps, changed.row));
  return changed;
}

/** Starts the reservation's workflow; one that runs already stays. */
export async function startRun(deps: Deps, row: Reservation): Promise<void> {
  const { zone } = await deps.programs.get(row.program);
  await deps.workflows.startReservation(row, zone);
}

/** Makes the reservation's workflow look again; starts it when `start` is set. */
export async function wakeRun(deps: Deps, row: Reservation, start: boolean): Promise<void> {
  const { zone } = await deps.programs.get(row.program);
  await deps.workflows.wakeReservation(row, start, zone);
}

/** Refusal: RESERVATION_NOT_FOUND. */
export async function getReservation(deps: Deps, name: ReservationName): Promise<SeenReservation> {
  const found = await deps.reader.get(reservationRef(name.program, name.id));
  if (!found) throw notFound(name.id);
  const { wall } = await deps.clock.now();
  return seen(found.value, wall);
}

/**
 * By execute time: a user's, or those in a state. A pending one whose time has come is listed as
 * PROCESSING. The lists lag behind by moments. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a
 * bad cursor.
 */
export async function listReservations(
  deps: Deps,
  program: string,
  of: { readonly user: string } | { readonly state: SeenState },
  window: Window,
  page: PageRequest,
): Promise<Page<SeenReservation>> {
  await deps.programs.get(program);
  const { wall } = await deps.clock.now();
  const asked = "state" in of ? narrowed(of.state, window, wall) : window;
  const isEmpty = asked.start !== undefined && asked.end !== undefined && asked.start >= asked.end;
  // With a cursor the reader answers: it refuses one that no list gave.
  if (isEmpty && page.cursor === undefined) return { items: [] };
  const rows =
    "user" in of
      ? await deps.reader.reservationsOfUser({ program, user: of.user }, asked, page)
      : await deps.reader.reservationsInState(program, storedState(of.state), asked, page);
  return { ...rows, items: rows.items.map((row) => seen(row, wall)) };
}

const storedState = (state: SeenState) => (state === "PROCESSING" ? "PENDING" : state);

/** PENDING and PROCESSING are one state of the row, told apart by whether its time has come. */
function narrowed(state: SeenState, { start, end }: Window, now: Instant): Window {
  if (state === "PENDING") return { start: Math.max(start ?? 0, now + 1), end };
  if (state === "PROCESSING") return { start, end: Math.min(end ?? now + 1, now + 1) };
  return { start, end };
}

function changeRow(
  deps: Deps,
  { program, id, deadline }: ReservationName,
  change: (row: Reservation, now: Instant) => Reservation,
): Promise<SeenReservation> {
  const ref = reservationRef(program, id);
  return deps.engine.run({
    key: ref,
    reads: [ref],
    absent: [],
    deadline,
    decide(view, { wall }) {
      const row = view.get(ref);
      if (!row) throw notFound(id);
      const changed = change(row, wall);
      if (changed !== row) view.put(ref, changed);
      return seen(changed, wall);
    },
  });
}

const seen = (row: Reservation, now: Instant): SeenReservation => ({
  row,
  state: seenState(row, now),
});

const notFound = (id: string) =>
  new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${id}`);
