/** The use case that cancels the reservations of a user, or those of a reason and a time. */

import { type Changed, fieldChanges } from "../../acts/rules/act.ts";
import type { CallLimits } from "../../platform/ports/call.ts";
import { badCursor, type Page, type PageRequest } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Program } from "../../points/rules/program.ts";
import type { Deps } from "../ports/deps.ts";
import {
  type ChangeRequest,
  cancel,
  isOpen,
  type OpenState,
  type Reservation,
} from "../rules/reservation.ts";
import { doEach, type ItemError, type OnFailed } from "./batches.ts";
import { type ActOfMany, changeReservation } from "./change-reservation.ts";

/** A call ends after this many reservations. */
const maxReservations = 1_000;

const pageSize = 100;

/** No page is begun later than this before the deadline, so that the answer is there in time. */
const answerMs = 1_000;

/** Which reservations to cancel. The window includes its start and excludes its end. */
type CancelFilter =
  | { readonly userId: string }
  | { readonly reasonPrefix: string; readonly start: Instant; readonly end: Instant };

/** A request to cancel reservations. */
interface CancelRequest extends ChangeRequest, CallLimits {
  readonly programId: string;
  readonly filter: CancelFilter;
  /** The cursor of the call before; undefined for the first call. */
  readonly cursor: string | undefined;
}

/** Why one reservation could not be cancelled. */
interface ReservationError {
  readonly reservationId: string;
  readonly error: ItemError;
}

/** The result of one call. With a cursor, there may be more to cancel. */
interface CancelResult {
  /** The reservations that the call has cancelled or, with `validateOnly`, would cancel. */
  readonly cancelled: readonly Reservation[];
  /** How many were granted, cancelled or moved out of the window before the call reached them. */
  readonly skipped: number;
  readonly errors: readonly ReservationError[];
  readonly cursor?: string | undefined;
}

type CancelDeps = Pick<
  Deps,
  "engine" | "reader" | "programs" | "dueHours" | "workflows" | "clock" | "background"
>;

/**
 * Cancels pending and failed reservations, each in a transaction of its own, up to 1,000 a call. It
 * may be repeated. The first transaction writes the act of the call. It finds them by the indexes,
 * which lag behind by moments; the record decides. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for
 * a bad cursor.
 */
export async function cancelReservations(
  deps: CancelDeps,
  request: CancelRequest,
  onFailed: OnFailed,
): Promise<CancelResult> {
  // A copy may have fewer shards than the servers that reserve meanwhile.
  const program = await deps.programs.read(request.programId);
  const latest = (request.deadline ?? Number.POSITIVE_INFINITY) - answerMs;
  const total = { cancelled: [] as Reservation[], skipped: 0, errors: [] as ReservationError[] };
  const { wall: time } = await deps.clock.now();
  const act = { changed: changedBy(request), time, isWritten: request.audit === undefined };
  let { cursor } = request;
  let left = maxReservations;
  do {
    const page = await candidates(deps, program, request, {
      size: Math.min(pageSize, left),
      cursor,
    });
    const reservations = page.items.filter(isOpen);
    const done = request.validateOnly
      ? { cancelled: reservations, skipped: 0, errors: [] }
      : await cancelEach(deps, request, reservations, act, onFailed);
    total.cancelled.push(...done.cancelled);
    total.skipped += done.skipped;
    total.errors.push(...done.errors);
    left -= reservations.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0 && performance.now() < latest);
  return cursor === undefined ? total : { ...total, cursor };
}

async function cancelEach(
  deps: CancelDeps,
  request: CancelRequest,
  reservations: readonly Reservation[],
  act: ActOfMany & { isWritten: boolean },
  onFailed: OnFailed,
) {
  const cancelSome = (some: readonly Reservation[], call: Pick<CallLimits, "audit">) =>
    doEach(
      some,
      ({ reservationId }) =>
        changeReservation(
          deps,
          { ...request, ...call, actOfMany: act, reservationId },
          (reservation, { wall }) =>
            isOpen(reservation) && isIn(request.filter, reservation)
              ? cancel(reservation, request, wall)
              : reservation,
        ),
      onFailed,
    );
  const results: Awaited<ReturnType<typeof cancelSome>> = [];
  // One after another until one is surely cancelled, and the act with it.
  while (!act.isWritten && results.length < reservations.length) {
    const next = reservations.slice(results.length, results.length + 1);
    const found = await cancelSome(next, { audit: request.audit });
    act.isWritten = found.some((each) => "done" in each && each.done.isChanged);
    results.push(...found);
  }
  results.push(...(await cancelSome(reservations.slice(results.length), { audit: undefined })));
  const cancelled: Reservation[] = [];
  const errors: ReservationError[] = [];
  for (const [i, result] of results.entries()) {
    if ("error" in result) {
      errors.push({
        reservationId: (reservations[i] as Reservation).reservationId,
        error: result.error,
      });
    } else if (result.done.isChanged) {
      cancelled.push(result.done.reservation);
    }
  }
  return { cancelled, errors, skipped: reservations.length - cancelled.length - errors.length };
}

/** What a call changes, for its act: which reservations it was asked to cancel. */
function changedBy({ programId, filter, reason }: CancelRequest): Changed {
  const object = { programId, objectType: "reservations", reason } as const;
  const changes = fieldChanges({}, { state: "CANCELLED" });
  if ("userId" in filter) return { ...object, objectId: filter.userId, ...filter, changes };
  const [from, before] = [filter.start, filter.end].map((time) => new Date(time).toISOString());
  const window = { execute_time_from: from, execute_time_before: before };
  return {
    ...object,
    objectId: filter.reasonPrefix,
    changes: [...changes, ...fieldChanges({}, window)],
  };
}

/** Whether a record still belongs to the request: only its execute time may have changed. */
const isIn = (filter: CancelFilter, { executeTime }: Reservation): boolean =>
  "userId" in filter || (executeTime >= filter.start && executeTime < filter.end);

/**
 * One page of records that may have to be cancelled: the pending ones, then the failed ones, so
 * that one that fails meanwhile is found. The cursor is the state and the cursor of its list, which
 * is empty at its beginning.
 */
async function candidates(
  { reader }: CancelDeps,
  program: Program,
  { programId, filter }: CancelRequest,
  { size, cursor }: PageRequest,
): Promise<Page<Reservation>> {
  const [, from, inner] = /^(PENDING|FAILED) (.*)$/.exec(cursor ?? "PENDING ") ?? [];
  if (from === undefined) throw badCursor();
  const state = from as OpenState;
  const page = { size, cursor: inner || undefined };
  const { items, cursor: next } =
    "userId" in filter
      ? await reader.reservationsOfUserInState(
          { programId, userId: filter.userId },
          state,
          { start: undefined, end: undefined },
          page,
        )
      : await reader.reservationsInState(program, state, filter, page);
  if (next !== undefined) return { items, cursor: `${state} ${next}` };
  return state === "PENDING" ? { items, cursor: "FAILED " } : { items };
}
