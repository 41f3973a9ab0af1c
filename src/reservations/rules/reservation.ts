/** The states of a reservation and the rules for changing them. */
import type { Annotations } from "../../platform/words/annotations.ts";
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { type Instant, monthAt } from "../../platform/words/month.ts";
import type { Reason } from "../../platform/words/reasons.ts";
import {
  isReservable,
  type Milliseconds,
  maxPoints,
  type Points,
} from "../../platform/words/units.ts";
import { lifetimeAt } from "../../points/rules/account.ts";
import { bucketMonth, type EarlyExpiry, whyImpossible } from "../../points/rules/early-expiry.ts";
import type { LedgerEntry } from "../../points/rules/ledger.ts";
import type { Program, ShardedProgram } from "../../points/rules/program.ts";

export type ReservationState = "PENDING" | "DONE" | "FAILED" | "CANCELLED";

/** The states of a reservation that has not ended. */
export type OpenState = Extract<ReservationState, "PENDING" | "FAILED">;

/** The state that a reader gets: a pending reservation whose time has come is PROCESSING. */
export type VisibleState = ReservationState | "PROCESSING";

/**
 * The record of a reservation, a grant for a later moment. State and time of the reservation are
 * those of this record; its workflow only reads it.
 */
export interface Reservation extends Annotations, ShardedProgram {
  readonly reservationId: string;
  readonly userId: string;
  readonly points: Points;
  readonly creator: Caller;
  /** The hash of the first create request. */
  readonly hash: string;
  readonly executeTime: Instant;
  /** Absent for points that last for the whole lifetime. */
  readonly expiry?: EarlyExpiry | undefined;
  readonly state: ReservationState;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** The grant of the points. */
  readonly grant?: {
    readonly time: Instant;
    readonly entryNumber: number;
    /** From when on the points could be granted: the execute time, or a later last change. */
    readonly dueSince: Instant;
  };
  /** Why the last grant was refused. It stays when the failed reservation is cancelled. */
  readonly failure?: { readonly reason: Reason; readonly message: string } | undefined;
  /** The last reschedule, change of the points, cancel or retry. Absent when there was none. */
  readonly lastChange?: ReservationChange | undefined;
  /**
   * The header `traceparent` of the span of the call that reserved. Absent where that call was not
   * recorded.
   */
  readonly traceparent?: string | undefined;
}

/** Who changes a reservation, and why; the reason may be empty. */
export interface ChangeRequest {
  readonly caller: Caller;
  readonly reason: string;
}

/** A change that was made. */
export interface ReservationChange extends ChangeRequest {
  readonly time: Instant;
}

/** Returns the state that a reader gets at `now`. */
export function visibleState({ state, executeTime }: Reservation, now: Instant): VisibleState {
  return state === "PENDING" && executeTime <= now ? "PROCESSING" : state;
}

/**
 * Throws INVALID_REQUEST for a time that is not a whole number of milliseconds, before 1970, or
 * more than five years ahead. A past time since 1970 is allowed and means that the reservation is
 * due at once. The index keys of the store hold no other times.
 */
export function checkExecuteTime(executeTime: Instant, now: Instant): void {
  if (!Number.isInteger(executeTime) || executeTime < 0) {
    throw new DomainError("INVALID_REQUEST", "execute_time is not an instant since 1970", {
      field: "execute_time",
    });
  }
  const latest = latestExecuteTime(now);
  if (executeTime > latest) {
    throw new DomainError("INVALID_REQUEST", "execute_time is more than five years ahead", {
      field: "execute_time",
      latest: new Date(latest).toISOString(),
    });
  }
}

/** A time that has passed may be that of a late call, or of a job that was stopped over night. */
const maxPastMs: Milliseconds = 24 * 3_600_000;

/**
 * Throws INVALID_REQUEST for a time more than a day ago. Points are granted at once then, and most
 * such times are mistakes.
 */
export function checkNotLongPast(executeTime: Instant, now: Instant): void {
  if (executeTime >= now - maxPastMs) return;
  const time = new Date(executeTime).toISOString();
  const hint =
    new Date(executeTime).getUTCFullYear() === 1970
      ? "seconds taken for milliseconds are in January 1970; "
      : "";
  throw new DomainError(
    "INVALID_REQUEST",
    `execute_time is more than a day ago: it reads as ${time}; ${hint}` +
      "with allow_past_execute_time the points are granted at once",
    { field: "execute_time" },
  );
}

/**
 * Throws LIMIT_EXCEEDED, as `bucketMonth`, for points that could not expire as requested when they
 * are granted at their execute time, or at `now` if that is later. A lengthening of the lifetime
 * until then only makes more months possible.
 */
export function checkExpiry(
  program: Program,
  { executeTime, expiry }: Pick<Reservation, "executeTime" | "expiry">,
  now: Instant,
): void {
  const { month, lifetime } = termsOfGrant(program, executeTime, now);
  bucketMonth(month, lifetime, expiry);
}

/**
 * Says why a grant after a retry at `now` would be refused, as `checkExpiry` does: the month of its
 * expiry is over. Undefined while the points can expire as requested.
 */
export function whyRetryFails(
  program: Program,
  { executeTime, expiry }: Pick<Reservation, "executeTime" | "expiry">,
  now: Instant,
): string | undefined {
  const { month, lifetime } = termsOfGrant(program, executeTime, now);
  return whyImpossible(month, lifetime, expiry);
}

/** The month of a grant at its execute time, or at `now` if that is later, and its lifetime. */
function termsOfGrant(program: Program, executeTime: Instant, now: Instant) {
  const due = Math.max(executeTime, now);
  return { month: monthAt(program.timeZone, due), lifetime: lifetimeAt(program, due) };
}

/** The latest instant for which points can be reserved at `now`: five years ahead. */
export function latestExecuteTime(now: Instant): Instant {
  const latest = new Date(now);
  return latest.setUTCFullYear(latest.getUTCFullYear() + 5);
}

/**
 * Cancels a pending or failed reservation. A cancelled one does not change. A failed one keeps its
 * failure, so that a reader sees why it had failed. Refusal: WRONG_STATE.
 */
export function cancel(
  reservation: Reservation,
  request: ChangeRequest,
  now: Instant,
): Reservation {
  if (reservation.state === "CANCELLED") return reservation;
  if (!isOpen(reservation)) throw wrongState(reservation, "cancelled");
  return { ...changed(reservation, request, now), state: "CANCELLED" };
}

/** Whether a reservation has not ended: its points are not granted, and it is not cancelled. */
export const isOpen = ({ state }: Reservation): boolean =>
  state === "PENDING" || state === "FAILED";

/**
 * Moves a pending reservation to another time, which may be past. Refusals: WRONG_STATE,
 * INVALID_REQUEST as `checkExecuteTime`.
 */
export function reschedule(
  reservation: Reservation,
  executeTime: Instant,
  request: ChangeRequest,
  now: Instant,
): Reservation {
  if (reservation.state !== "PENDING") throw wrongState(reservation, "rescheduled");
  if (reservation.executeTime === executeTime) return reservation;
  checkExecuteTime(executeTime, now);
  return { ...changed(reservation, request, now), executeTime };
}

/**
 * Lowers or raises the points of a pending reservation. Refusals: WRONG_STATE, INVALID_REQUEST for
 * points that are not 1 to `maxPoints`.
 */
export function changePoints(
  reservation: Reservation,
  points: Points,
  request: ChangeRequest,
  now: Instant,
): Reservation {
  if (reservation.state !== "PENDING") throw wrongState(reservation, "changed");
  if (reservation.points === points) return reservation;
  if (!isReservable(points)) {
    throw new DomainError("INVALID_REQUEST", `points: must be 1 to ${maxPoints}`, {
      field: "points",
    });
  }
  return { ...changed(reservation, request, now), points };
}

/** Sets a failed reservation to pending. A pending one does not change. Refusal: WRONG_STATE. */
export function retry(reservation: Reservation, request: ChangeRequest, now: Instant): Reservation {
  if (reservation.state === "PENDING") return reservation;
  if (reservation.state !== "FAILED") throw wrongState(reservation, "retried");
  const { failure: _, ...rest } = changed(reservation, request, now);
  return { ...rest, state: "PENDING" };
}

/**
 * Returns what to do now: grant the points, wait, or end in the state of the record. FAILED is
 * final: an activity that is retried after its answer was lost, and any other run, get FAILED until
 * an operator or a caller retries. `resetTime` is the time at which an operator has reset the run
 * of this attempt in Temporal, if any: a reset after the failure is such a retry.
 */
export function nextStep(
  reservation: Reservation,
  now: Instant,
  resetTime?: Instant,
): "GRANT" | "WAIT" | "DONE" | "FAILED" | "CANCELLED" {
  const isRetry = resetTime !== undefined && resetTime > reservation.updateTime;
  if (reservation.state !== "PENDING" && !(reservation.state === "FAILED" && isRetry))
    return reservation.state;
  return reservation.executeTime <= now ? "GRANT" : "WAIT";
}

/**
 * Sets a reservation done, by the ledger entry of its grant. That of an earlier grant may have
 * other points than a record that comes from a backup.
 */
export function complete(
  reservation: Reservation,
  { number: entryNumber, points }: Pick<LedgerEntry, "number" | "points">,
  now: Instant,
): Reservation {
  const { failure: _, ...rest } = reservation;
  const dueSince = Math.max(reservation.executeTime, reservation.updateTime);
  const grant = { time: now, entryNumber, dueSince };
  return { ...rest, points, state: "DONE", updateTime: now, grant };
}

/**
 * Returns how late the points were granted, in ms, 0 or more; 0 until then. It counts from the
 * later of the execute time and the last change before the grant, such as a retry.
 */
export const latenessOf = ({ grant }: Pick<Reservation, "grant">): Milliseconds =>
  grant ? Math.max(0, grant.time - grant.dueSince) : 0;

/** The cause of a late grant. */
export type LatenessCause = "due" | "paused" | "retried";

/**
 * Returns why a reservation is granted later than it was due, by its record before the grant:
 * `paused` when its program was resumed since, `retried` when it was changed since, by a retry or
 * by a move to a past time. Undefined for a failed record, which an operator has reset: how long
 * people took for that says nothing about the service.
 */
export function latenessCause(
  { state, executeTime, updateTime, lastChange }: Reservation,
  resumeTime = Number.NEGATIVE_INFINITY,
): LatenessCause | undefined {
  if (state === "FAILED") return undefined;
  if (resumeTime > Math.max(executeTime, updateTime)) return "paused";
  return lastChange && lastChange.time > executeTime ? "retried" : "due";
}

/** Sets a reservation failed because its grant was refused. */
export function fail(reservation: Reservation, refusal: DomainError, now: Instant): Reservation {
  const failure = { reason: refusal.reason, message: refusal.message };
  return { ...reservation, state: "FAILED", updateTime: now, failure };
}

/** The record with its last change. */
const changed = (
  reservation: Reservation,
  { caller, reason }: ChangeRequest,
  now: Instant,
): Reservation => ({
  ...reservation,
  lastChange: { caller, time: now, reason },
  updateTime: now,
});

function wrongState(reservation: Reservation, verb: string): DomainError {
  return new DomainError("WRONG_STATE", `a ${reservation.state} reservation cannot be ${verb}`, {
    state: reservation.state,
  });
}
