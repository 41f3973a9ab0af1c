/** The operations of the fault workload and what their callers learned of them. */

import type { DomainError } from "../../../src/platform/words/errors.ts";
import { type Month, monthAt } from "../../../src/platform/words/month.ts";
import { type EventName, eventName, type LedgerEntry } from "../../../src/points/rules/ledger.ts";
import type { ChangeResult } from "../../../src/points/use-cases/commands.ts";

export interface Operation {
  readonly id: string;
  readonly userId: string;
  readonly kind: "grant" | "use" | "refund" | "revoke" | "extend" | "hold" | "capture" | "release";
  readonly points: number;
  /**
   * The id of the event that a refund, a revoke or an extension reverses, or of the hold that a
   * capture or a release ends.
   */
  readonly reverses: string;
  /** The hold of the capture that a refund reverses. */
  readonly holdId?: string;
  /** Of a hold that was sent: when what it still holds is released. */
  readonly until?: number;
}

/** What callers learn of a ledger entry at least, and what the checks read of it. */
export type KnownEntry = Pick<
  LedgerEntry,
  "number" | "type" | "event" | "points" | "changes" | "availablePoints" | "reason" | "relatedEvent"
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

/** The event of an operation in the ledger. */
function eventOf({ id, kind, reverses }: Operation): EventName {
  if (kind === "hold") return { origin: "h", eventId: id };
  if (kind === "capture") return { origin: "h", eventId: `${reverses}/capture/${id}` };
  if (kind === "release") return { origin: "h", eventId: `${reverses}/release` };
  return { origin: "c", eventId: id };
}

/** The event of what an operation reverses or ends. */
export function reversedBy({ kind, reverses, holdId }: Operation): EventName {
  if (holdId !== undefined) return { origin: "h", eventId: `${holdId}/capture/${reverses}` };
  const isOfHold = kind === "capture" || kind === "release";
  return { origin: isOfHold ? "h" : "c", eventId: reverses };
}

/**
 * What an operation and its entry have in common. A hold is also released by the end of a capture
 * and by its timeout, so the reason of a release is the id of the operation that has made it. There
 * is at most one release of a hold among the operations.
 */
export const keyOf = (operation: Operation): string =>
  withMaker(eventOf(operation), operation.kind === "release", operation.id);

export const keyOfEntry = ({ event, type, reason }: KnownEntry): string =>
  withMaker(event, type === "RELEASED", reason);

const withMaker = (event: EventName, isRelease: boolean, id: string): string =>
  isRelease ? `${eventName(event)} by ${id}` : eventName(event);

/** What no other entry has taken of the points of this one yet. */
export const leftOf = (entry: KnownEntry, entries: readonly KnownEntry[]): number =>
  entries
    .filter(({ relatedEvent: of }) => of && eventName(of) === eventName(entry.event))
    .reduce((left, { points }) => left - points, entry.points);

/** Whether a use or a hold may be partial. */
export const allowsPartial = ({ points }: Operation): boolean => points % 2 === 0;

/** The points of a refund; undefined for all that are left. */
export const refundPointsOf = ({ points }: Operation): number | undefined =>
  points % 3 === 0 ? Math.ceil(points / 5) : undefined;

/** The points of a capture; undefined for all that are left. */
export const capturePointsOf = ({ points }: Operation): number | undefined =>
  points % 3 === 0 ? undefined : Math.ceil(points / 5);

/** Whether a capture leaves the rest of the hold for further ones. */
export const doMoreFollow = ({ points }: Operation): boolean => points % 2 === 0;

/** As many months as the lifetime of the program has. */
const lifetimeMonths = 12;

/** The month after the one in which the run began, so that it is not over when the run ends. */
const nextMonth = monthAt("Asia/Tokyo", Date.now()) + 1;

/** The month at whose end the points of an extension expire, and of some grants. */
export const expireMonthOf = ({ kind, points }: Operation): Month | undefined =>
  kind === "extend" || points % 4 === 0 ? nextMonth + (points % (lifetimeMonths - 1)) : undefined;

/** The month to which an extension moves points. */
export const targetMonthOf = (operation: Operation): Month =>
  (expireMonthOf(operation) as Month) + 1 - lifetimeMonths;

/** Of a short hold. A hold is long or short by its points, unless it has its `until` already. */
export const shortHoldMs = 5 * 60_000;
export const longHoldMs = 60 * 60_000;

/** An operation that is sent for the first time now. */
export const begun = (operation: Operation, shortMs = shortHoldMs): Operation =>
  operation.kind === "hold"
    ? { until: Date.now() + (operation.points % 4 < 2 ? shortMs : longHoldMs), ...operation }
    : operation;
