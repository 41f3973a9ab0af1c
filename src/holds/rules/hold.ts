/** The rules of holds: points that are set aside, then captured, or released to their months. */

import { type Annotations, annotationsOf } from "../../platform/words/annotations.ts";
import { type Caller, noCaller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { nounFor } from "../../platform/words/quantities.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";
import { availablePointsOf } from "../../points/rules/account.ts";
import {
  type EventName,
  heldNow,
  type MonthChange,
  parseEventName,
} from "../../points/rules/ledger.ts";
import { negative, skipFirst, sum } from "../../points/rules/month-changes.ts";
import {
  aboveLimit,
  type Before,
  type Change,
  currentAccount,
  drained,
  type ExpiredPointsPolicy,
  maxBalance,
  requireNotFrozen,
  type State,
  withEntry,
  withRestored,
} from "../../points/rules/points.ts";
import type { ShardedProgram } from "../../points/rules/program.ts";

/**
 * A hold is HELD until one of these ends it, whichever is committed first: a capture after which
 * nothing is held (CAPTURED), a release (RELEASED), or its timeout (EXPIRED).
 */
export type HoldState = "HELD" | "CAPTURED" | "RELEASED" | "EXPIRED";

/**
 * The record of a hold. It decides, and its workflow only reads it. It is also what makes the hold
 * and its release happen once. Its captures have event keys, as uses have.
 */
export interface Hold extends Annotations, ShardedProgram {
  /** Unique in the program for good. Contains no `/`, so that names of its events are unique. */
  readonly holdId: string;
  readonly userId: string;
  /** The points by month as the hold has taken them, oldest first. They do not change. */
  readonly months: readonly MonthChange[];
  /** From this instant on, what is still held is released. */
  readonly until: Instant;
  /** Where every release of the hold puts points that have expired since. */
  readonly expiredPointsPolicy: ExpiredPointsPolicy;
  readonly creator: Caller;
  /** The hash of the first request. */
  readonly hash: string;
  readonly state: HoldState;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** The time of the HELD entry, when its points were taken from their months. */
  readonly heldTime: Instant;
  /** The HELD entry, and the points of the account after it. */
  readonly entryNumber: number;
  readonly availablePoints: number;
  /** The sum of the captures, and their number. */
  readonly capturedPoints: Points;
  readonly captureCount: number;
  /** The RELEASED entry. Absent while the hold is HELD, and when all of it was captured. */
  readonly release?: Release | undefined;
}

/** The release of the points that were still held. */
export interface Release {
  readonly points: Points;
  readonly entryNumber: number;
  readonly availablePoints: number;
}

/** A decided change of an account and of a hold of it, with the entry of the event itself. */
export interface HoldChange extends Change {
  readonly hold: Hold;
}

/** Who changes a hold, why, and at which instant of the clock by which holds time out. */
interface Request extends Annotations {
  readonly caller: Caller;
  readonly wall: Instant;
}

/** A hold lasts at least this long and at most `longestHoldMs`. */
const shortestHoldMs: Milliseconds = 60_000;
export const longestHoldMs: Milliseconds = 90 * 86_400_000;

/** So many captures a hold takes, so that GetHold can answer all of them. */
export const maxCaptures = 1_000;

/** The points that were held at the beginning. */
export const pointsOf = ({ months }: Hold): Points => sum(months);

/** The points that are still held. */
export const leftPointsOf = (hold: Hold): Points =>
  hold.state === "HELD" ? pointsOf(hold) - hold.capturedPoints : 0;

/** How many more captures the hold takes. One that leaves it HELD is never the last of them. */
export const capturesLeftOf = ({ state, captureCount }: Hold): number =>
  state === "HELD" ? maxCaptures - captureCount : 0;

/** The event of the HELD entry. Captures and the release have the id of the hold in theirs. */
export const holdEvent = (holdId: string): EventName => ({ origin: "h", eventId: holdId });
export const captureEvent = (holdId: string, eventId: string): EventName =>
  holdEvent(`${holdId}/capture/${eventId}`);
const releaseEvent = (holdId: string) => holdEvent(`${holdId}/release`);

/** Whether a hold itself is the record of an event: of its beginning or its release. */
export const isInHold = ({ origin, eventId }: EventName): boolean =>
  origin === "h" && !eventId.startsWith(captureEvent(holdOfEvent(eventId), "").eventId);

/** The hold of an event of origin `h`. */
export const holdOfEvent = (eventId: string): string => eventId.split("/", 1)[0] as string;

/** The id of a capture, which its caller has chosen, by its event. */
export const captureIdOf = (holdId: string, { eventId }: EventName): string =>
  eventId.slice(captureEvent(holdId, "").eventId.length);

/** The hold of an event of a ledger, also of an expiry that a release has caused; or undefined. */
export function holdIdOf(event: EventName): string | undefined {
  const { origin, eventId } =
    event.origin === "x" ? parseEventName(event.eventId.slice("2026-01/".length)) : event;
  return origin === "h" ? holdOfEvent(eventId) : undefined;
}

/** The number of the entry of an event that is in the hold; undefined if it has no such event. */
export function entryOfEvent(hold: Hold, eventId: string): number | undefined {
  if (eventId === hold.holdId) return hold.entryNumber;
  if (eventId === releaseEvent(hold.holdId).eventId) return hold.release?.entryNumber;
  return undefined;
}

/**
 * Sets points aside, oldest month first. Refusals: INVALID_REQUEST for a time less than a minute or
 * more than 90 days ahead, LIMIT_EXCEEDED for more than `maxBalance` over the life of the account,
 * and those of `use`.
 */
export function hold(
  state: State,
  request: Request & Pick<Hold, "holdId" | "until" | "expiredPointsPolicy" | "hash">,
  points: Points,
  allowPartial: boolean,
): HoldChange {
  const { holdId, until, expiredPointsPolicy, hash, caller, wall } = request;
  const why = annotationsOf(request);
  checkUntil(until, wall);
  const before = requireNotFrozen(state);
  const months = drained(before.account, points, allowPartial);
  const { account, entries, entry } = withEntry(state, before, {
    event: holdEvent(holdId),
    caller,
    ...why,
    type: "HELD",
    points: sum(months),
    changes: months.map(negative),
  });
  if (account.totals.heldPoints > maxBalance) throw aboveLimit();
  const { programId, userId } = account;
  return {
    account,
    entries,
    entry,
    hold: {
      programId,
      holdId,
      userId,
      months,
      until,
      expiredPointsPolicy,
      hash,
      ...why,
      creator: caller,
      state: "HELD",
      createTime: wall,
      updateTime: wall,
      heldTime: entry.createTime,
      entryNumber: entry.number,
      availablePoints: entry.availablePoints,
      capturedPoints: 0,
      captureCount: 0,
      reservationShardCount: state.program.reservationShardCount,
    },
  };
}

/**
 * Takes held points for good, oldest month first; without `points` all that are left. The rest is
 * released, unless more captures follow. Until the timeout is committed, a hold can be captured,
 * also after its time. Refusals: WRONG_STATE unless the hold is HELD, LIMIT_EXCEEDED for more than
 * is left, or when the last capture would not end the hold, ACCOUNT_FROZEN.
 */
export function capture(
  state: State,
  held: Hold,
  request: Request & { readonly eventId: string },
  points: Points | undefined,
  moreFollow: boolean,
): HoldChange {
  const { eventId, caller, wall } = request;
  requireHeld(held, "captured");
  requireTaken(state, held);
  const left = leftPointsOf(held);
  const taken = points ?? left;
  if (taken > left) {
    const message = `${left} ${nounFor(left, "point")} of this hold can be captured`;
    throw new DomainError("LIMIT_EXCEEDED", message, {
      capturable_points: String(left),
    });
  }
  const isEnd = taken === left || !moreFollow;
  if (!isEnd && capturesLeftOf(held) <= 1) {
    const message = `the last of ${maxCaptures} captures of a hold has to end it`;
    throw new DomainError("LIMIT_EXCEEDED", message, { limit: String(maxCaptures) });
  }
  const captured = withEntry(state, requireNotFrozen(state), {
    event: captureEvent(held.holdId, eventId),
    caller,
    ...annotationsOf(request),
    type: "CAPTURED",
    points: taken,
    changes: [],
    relatedEvent: holdEvent(held.holdId),
  });
  const hasRest = isEnd && taken < left;
  const rest = hasRest ? withReleased(state, captured, held, taken, request) : undefined;
  const { account, entries } = rest ?? captured;
  return {
    account,
    entries,
    entry: captured.entry,
    hold: {
      ...held,
      ...(rest && { release: rest.release }),
      state: isEnd ? "CAPTURED" : "HELD",
      updateTime: wall,
      capturedPoints: held.capturedPoints + taken,
      captureCount: held.captureCount + 1,
    },
  };
}

/**
 * Gives back what is still held, also on a frozen account: nobody can use it there. Refusal:
 * WRONG_STATE unless the hold is HELD.
 */
export function release(state: State, held: Hold, request: Request): HoldChange {
  requireHeld(held, "released");
  return ended(state, held, request, "RELEASED");
}

/** Whether the time of a hold has come and nothing has ended it. */
export const isDue = ({ state, until }: Hold, wall: Instant): boolean =>
  state === "HELD" && until <= wall;

/** Gives back what is still held because the time of the hold has come, as `release` does. */
export const timeOut = (state: State, held: Hold, wall: Instant): HoldChange =>
  ended(state, held, { caller: noCaller, reason: "", wall }, "EXPIRED");

function ended(
  state: State,
  held: Hold,
  request: Request,
  end: "RELEASED" | "EXPIRED",
): HoldChange {
  requireTaken(state, held);
  const { account, entries, entry, release } = withReleased(
    state,
    currentAccount(state),
    held,
    0,
    request,
  );
  return {
    account,
    entries,
    entry,
    hold: { ...held, state: end, updateTime: request.wall, release },
  };
}

/**
 * Appends the RELEASED entry of what is held beside the points of earlier captures and `taken`.
 * Captures take the oldest months first, as a refund returns the newest ones first.
 */
function withReleased(
  state: State,
  before: Before,
  held: Hold,
  taken: Points,
  request: Request,
): Change & { readonly release: Release } {
  const released = {
    event: releaseEvent(held.holdId),
    caller: request.caller,
    ...annotationsOf(request),
    type: "RELEASED",
    relatedEvent: holdEvent(held.holdId),
  } as const;
  const months = skipFirst(held.months, held.capturedPoints + taken);
  const left = { months, since: held.heldTime };
  const change = withRestored(state, before, released, left, held.expiredPointsPolicy);
  const { account, entries, entry } = change;
  const availablePoints = availablePointsOf(account);
  const release = { points: entry.points, entryNumber: entry.number, availablePoints };
  return { account, entries, entry, release };
}

function requireHeld({ state }: Hold, verb: string): void {
  if (state === "HELD") return;
  throw new DomainError("WRONG_STATE", `a ${state} hold cannot be ${verb}`, { state });
}

/**
 * Throws WRONG_STATE when the account does not know of the points: it or the hold comes from a
 * backup, and what it has never lost must not be given back to it.
 */
function requireTaken({ account }: State, held: Hold): void {
  if (account && heldNow(account.totals) >= leftPointsOf(held)) return;
  throw new DomainError("WRONG_STATE", "the account holds fewer points than this hold", {
    state: held.state,
  });
}

/** Whether a hold may end then: a minute to 90 days ahead. */
export const isHoldEnd = (until: Instant, wall: Instant): boolean =>
  Number.isInteger(until) && until >= wall + shortestHoldMs && until <= wall + longestHoldMs;

function checkUntil(until: Instant, wall: Instant): void {
  if (isHoldEnd(until, wall)) return;
  throw new DomainError("INVALID_REQUEST", "until is not a minute to 90 days ahead", {
    field: "until",
  });
}
