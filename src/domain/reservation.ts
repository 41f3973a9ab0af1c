/** The states of a reservation and the rules for changing them. */
import type { Caller } from "./caller.ts";
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
  readonly caller: Caller;
  /** The hash of the first create request. */
  readonly hash: string;
  readonly executeTime: Instant;
  readonly state: ReservationState;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** The grant of the points. Rows of earlier versions have no `dueSince`. */
  readonly executed?: {
    readonly time: Instant;
    readonly entryNumber: number;
    /** From when on the points could be granted: the execute time, or a later last change. */
    readonly dueSince?: Instant;
  };
  /** Why the last grant was refused. It stays when the failed reservation is cancelled. */
  readonly failure?: { readonly reason: Reason; readonly message: string };
  /** Who created, moved, cancelled or retried it last. */
  readonly changedBy: Caller;
  /** Why, in that service's words. Absent when it gave no reason. */
  readonly changeReason?: string;
  /** The last change was not confirmed to have reached the workflow. The reconciler repeats it. */
  readonly unsynced?: true;
}

/** Who changes a reservation, and why; the reason may be empty. */
export interface Change {
  readonly changedBy: Caller;
  readonly changeReason: string;
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

/** The latest instant for which points can be reserved at `now`: five years ahead. */
export function latestExecuteTime(now: Instant): Instant {
  const latest = new Date(now);
  return latest.setUTCFullYear(latest.getUTCFullYear() + 5);
}

/**
 * Cancels a pending or failed reservation. A cancelled one does not change. A failed one keeps its
 * failure, so that a reader sees why it had failed. Refusal: WRONG_STATE.
 */
export function cancel(row: Reservation, change: Change, now: Instant): Reservation {
  if (row.state === "CANCELLED") return row;
  if (!isCancellable(row)) throw wrongState(row, "cancelled");
  return { ...changed(row, change, now), state: "CANCELLED" };
}

/** Whether a reservation can be cancelled: its points are not granted, and it is not cancelled. */
export const isCancellable = ({ state }: Reservation): boolean =>
  state === "PENDING" || state === "FAILED";

/**
 * Moves a pending reservation to another time, which may be past. Refusals: WRONG_STATE,
 * INVALID_REQUEST as `checkExecuteTime`.
 */
export function reschedule(
  row: Reservation,
  executeTime: Instant,
  change: Change,
  now: Instant,
): Reservation {
  if (row.state !== "PENDING") throw wrongState(row, "rescheduled");
  if (row.executeTime === executeTime) return row;
  checkExecuteTime(executeTime, now);
  return { ...changed(row, change, now), executeTime };
}

/** Sets a failed reservation to pending. A pending one does not change. Refusal: WRONG_STATE. */
export function retry(row: Reservation, change: Change, now: Instant): Reservation {
  if (row.state === "PENDING") return row;
  if (row.state !== "FAILED") throw wrongState(row, "retried");
  const { failure: _, ...rest } = changed(row, change, now);
  return { ...rest, state: "PENDING" };
}

/** Returns the row once its workflow is known to have its last change. */
export function synced({ unsynced: _, ...row }: Reservation): Reservation {
  return row;
}

/**
 * Returns what to do now: grant the points, wait, or end in the state of the row. FAILED is final:
 * an activity that is retried after its answer was lost, and any other run, get FAILED until an
 * operator or a caller retries. `resetTime` is the time at which an operator has reset the run of
 * this attempt in Temporal, if any: a reset after the failure is such a retry.
 */
export function nextStep(
  row: Reservation,
  now: Instant,
  resetTime?: Instant,
): "GRANT" | "WAIT" | "DONE" | "FAILED" | "CANCELLED" {
  const isRetry = resetTime !== undefined && resetTime > row.updateTime;
  if (row.state !== "PENDING" && !(row.state === "FAILED" && isRetry)) return row.state;
  return row.executeTime <= now ? "GRANT" : "WAIT";
}

/** Sets a reservation done, by the ledger entry of its grant. */
export function complete(row: Reservation, entryNumber: number, now: Instant): Reservation {
  const { failure: _, ...rest } = synced(row);
  const dueSince = Math.max(row.executeTime, row.updateTime);
  const executed = { time: now, entryNumber, dueSince };
  return { ...rest, state: "DONE", updateTime: now, executed };
}

/**
 * Returns how late the points were granted, in ms, 0 or more; 0 until then. It counts from the
 * later of the execute time and the last change before the grant, such as a retry.
 */
export function latenessOf({ executed, executeTime }: Reservation): number {
  if (!executed) return 0;
  return Math.max(0, executed.time - (executed.dueSince ?? executeTime));
}

/** Sets a reservation failed because its grant was refused. */
export function fail(row: Reservation, refusal: DomainError, now: Instant): Reservation {
  const failure = { reason: refusal.reason, message: refusal.message };
  return { ...synced(row), state: "FAILED", updateTime: now, failure };
}

/** The row with a change of which its workflow does not know yet: who makes it, why and when. */
function changed(row: Reservation, { changedBy, changeReason }: Change, now: Instant): Reservation {
  const { changeReason: _, ...rest } = row;
  const reason = changeReason === "" ? {} : { changeReason };
  return { ...rest, changedBy, ...reason, updateTime: now, unsynced: true };
}

function wrongState(row: Reservation, verb: string): DomainError {
  return new DomainError("WRONG_STATE", `a ${row.state} reservation cannot be ${verb}`, {
    state: row.state,
  });
}
