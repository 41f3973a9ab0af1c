import type { Reason } from "./errors.ts";
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";

export type ReservationState = "PENDING" | "DONE" | "FAILED" | "CANCELLED";

/** What a reader sees: a pending reservation whose time has come is being processed. */
export type VisibleState = ReservationState | "PROCESSING";

/** A grant that waits for its time. This row decides; its workflow only looks at it. */
export interface Reservation {
  readonly programId: string;
  readonly reservationId: string;
  readonly userId: string;
  readonly points: number;
  readonly reason: string;
  readonly caller: string;
  /** Of the first create request. */
  readonly hash: string;
  readonly executeTime: Instant;
  readonly state: ReservationState;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** When the points were granted, and by which ledger entry. */
  readonly executed?: { readonly time: Instant; readonly entryNumber: number };
  /** Why it failed. */
  readonly failure?: { readonly reason: Reason; readonly message: string };
  /** The workflow run that failed last: that run never tries again, whatever is retried later. */
  readonly failedRunId?: string;
  /** It was moved to an earlier time than its workflow may know of. */
  readonly movedEarlier?: true;
}

export function visibleState({ state, executeTime }: Reservation, now: Instant): VisibleState {
  return state === "PENDING" && executeTime <= now ? "PROCESSING" : state;
}

/** Refuses a time more than five years ahead; one that has passed means at once. */
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

/** Cancels until the grant has committed. A cancelled one stays as it is. */
export function cancel(row: Reservation, now: Instant): Reservation {
  if (row.state === "CANCELLED") return row;
  return { ...pending(row, "cancelled"), state: "CANCELLED", updateTime: now };
}

/** Moves a pending reservation to another time, past ones included. */
export function reschedule(row: Reservation, executeTime: Instant, now: Instant): Reservation {
  if (pending(row, "rescheduled").executeTime === executeTime) return row;
  checkExecuteTime(executeTime, now);
  const moved = { ...row, executeTime, updateTime: now };
  return executeTime < row.executeTime ? { ...moved, movedEarlier: true } : moved;
}

/** Sets a failed reservation back to pending. A pending one stays as it is. */
export function retry(row: Reservation, now: Instant): Reservation {
  if (row.state === "PENDING") return row;
  if (row.state !== "FAILED") throw wrongState(row, "retried");
  const { failure: _, ...rest } = row;
  return { ...rest, state: "PENDING", updateTime: now };
}

/**
 * What the workflow run `run` has to do now: grant the points, sleep on, or end as the row says.
 * The run that failed a row ends as FAILED however often it asks, so that a lost answer never
 * turns a failure into a grant; any other run tries again.
 */
export function nextStep(
  row: Reservation,
  run: string,
  now: Instant,
): "GRANT" | "WAIT" | "DONE" | "FAILED" | "CANCELLED" {
  if (row.state === "DONE" || row.state === "CANCELLED") return row.state;
  if (row.failedRunId === run) return "FAILED";
  return row.executeTime <= now ? "GRANT" : "WAIT";
}

export function complete(row: Reservation, entry: number, now: Instant): Reservation {
  const { failure: _, ...rest } = row;
  return { ...rest, state: "DONE", updateTime: now, executed: { time: now, entryNumber: entry } };
}

export function fail(row: Reservation, error: DomainError, run: string, now: Instant): Reservation {
  const failure = { reason: error.reason, message: error.message };
  return { ...row, state: "FAILED", updateTime: now, failure, failedRunId: run };
}

function pending(row: Reservation, verb: string): Reservation {
  if (row.state !== "PENDING") throw wrongState(row, verb);
  return row;
}

function wrongState(row: Reservation, verb: string): DomainError {
  return new DomainError("WRONG_STATE", `a ${row.state} reservation cannot be ${verb}`, {
    state: row.state,
  });
}
