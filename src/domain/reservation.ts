/** The states of a reservation and the rules for changing them. */
import type { Reason } from "./errors.ts";
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";

export type ReservationState = "PENDING" | "DONE" | "FAILED" | "CANCELLED";

/** The state that a reader gets: a pending reservation whose time has come is PROCESSING. */
export type VisibleState = ReservationState | "PROCESSING";

/**
 * The row of a reservation, a grant for a later moment. State and time of the reservation are those
 * of this row; its workflow only reads it.
 */
export interface Reservation {
  readonly programId: string;
  readonly reservationId: string;
  readonly userId: string;
  readonly points: number;
  readonly reason: string;
  readonly caller: string;
  /** The hash of the first create request. */
  readonly hash: string;
  readonly executeTime: Instant;
  readonly state: ReservationState;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** When the points were granted, and the number of the ledger entry. */
  readonly executed?: { readonly time: Instant; readonly entryNumber: number };
  readonly failure?: { readonly reason: Reason; readonly message: string };
  /** The workflow run that failed last. This run never tries again, even after a retry. */
  readonly failedRunId?: string;
  /** The reservation was moved to an earlier time, and its workflow may sleep until the old one. */
  readonly movedEarlier?: true;
}

/** Returns the state that a reader gets at `now`. */
export function visibleState({ state, executeTime }: Reservation, now: Instant): VisibleState {
  return state === "PENDING" && executeTime <= now ? "PROCESSING" : state;
}

/**
 * Throws INVALID_REQUEST for a time more than five years ahead. A past time is allowed and means
 * that the reservation is due at once.
 */
export function checkExecuteTime(executeTime: Instant, now: Instant): void {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + 5);
  if (executeTime > latest.getTime()) {
    throw new DomainError("INVALID_REQUEST", "execute_time is more than five years ahead", {
      field: "execute_time",
      latest: latest.toISOString(),
    });
  }
}

/** Cancels a pending reservation. A cancelled one does not change. Refusal: WRONG_STATE. */
export function cancel(row: Reservation, now: Instant): Reservation {
  if (row.state === "CANCELLED") return row;
  return { ...requirePending(row, "cancelled"), state: "CANCELLED", updateTime: now };
}

/**
 * Moves a pending reservation to another time, which may be past. Refusals: WRONG_STATE,
 * INVALID_REQUEST for a time more than five years ahead.
 */
export function reschedule(row: Reservation, executeTime: Instant, now: Instant): Reservation {
  if (requirePending(row, "rescheduled").executeTime === executeTime) return row;
  checkExecuteTime(executeTime, now);
  const moved = { ...row, executeTime, updateTime: now };
  return executeTime < row.executeTime ? { ...moved, movedEarlier: true } : moved;
}

/** Sets a failed reservation to pending. A pending one does not change. Refusal: WRONG_STATE. */
export function retry(row: Reservation, now: Instant): Reservation {
  if (row.state === "PENDING") return row;
  if (row.state !== "FAILED") throw wrongState(row, "retried");
  const { failure: _, ...rest } = row;
  return { ...rest, state: "PENDING", updateTime: now };
}

/**
 * Returns what a workflow run has to do now: grant the points, wait, or end in the state of the
 * row. A run that has failed the row always gets FAILED, so that an activity that is retried after
 * its answer was lost never turns a failure into a grant. Any other run tries again.
 */
export function nextStep(
  row: Reservation,
  runId: string,
  now: Instant,
): "GRANT" | "WAIT" | "DONE" | "FAILED" | "CANCELLED" {
  if (row.state === "DONE" || row.state === "CANCELLED") return row.state;
  if (row.failedRunId === runId) return "FAILED";
  return row.executeTime <= now ? "GRANT" : "WAIT";
}

/** Sets a reservation done, by the ledger entry of its grant. */
export function complete(row: Reservation, entryNumber: number, now: Instant): Reservation {
  const { failure: _, ...rest } = row;
  return { ...rest, state: "DONE", updateTime: now, executed: { time: now, entryNumber } };
}

/** Sets a reservation failed because its grant was refused. */
export function fail(
  row: Reservation,
  refusal: DomainError,
  runId: string,
  now: Instant,
): Reservation {
  const failure = { reason: refusal.reason, message: refusal.message };
  return { ...row, state: "FAILED", updateTime: now, failure, failedRunId: runId };
}

function requirePending(row: Reservation, verb: string): Reservation {
  if (row.state !== "PENDING") throw wrongState(row, verb);
  return row;
}

function wrongState(row: Reservation, verb: string): DomainError {
  return new DomainError("WRONG_STATE", `a ${row.state} reservation cannot be ${verb}`, {
    state: row.state,
  });
}
