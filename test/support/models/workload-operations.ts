/** The operations of the fault workload and what their callers learned of them. */
import type { ChangeResult } from "../../../src/app/points/change-account.ts";
import type { DomainError } from "../../../src/domain/errors.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";

export interface Operation {
  readonly id: string;
  readonly userId: string;
  readonly kind: "grant" | "use" | "refund" | "revoke";
  readonly points: number;
  /** The id of the event that a refund or revoke reverses. */
  readonly reverses: string;
}

/** What callers learn of a ledger entry at least, and what the checks read of it. */
export type KnownEntry = Pick<
  LedgerEntry,
  "number" | "type" | "event" | "points" | "availablePoints" | "relatedEvent"
>;

/** The answer to an operation. */
export type Answer = Pick<ChangeResult, "availablePoints" | "replayed"> & {
  readonly entry: KnownEntry;
};

/** One call of an operation, timed by `performance.now()`. */
export interface Attempt<A = Answer> {
  readonly start: number;
  readonly end: number;
  readonly answer?: A;
  /** A refusal, or the error of an ambiguous result. */
  readonly error?: DomainError;
}

/** All attempts of an operation. */
export interface Outcome {
  readonly operation: Operation;
  readonly attempts: readonly Attempt[];
}

/** Whether a use may be partial. */
export const allowsPartial = ({ points }: Operation): boolean => points % 2 === 0;

/** The points of a refund; undefined for all that are left. */
export const refundPointsOf = ({ points }: Operation): number | undefined =>
  points % 3 === 0 ? Math.ceil(points / 5) : undefined;
