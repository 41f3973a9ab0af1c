/** The rule of refunds: what a use or a capture has taken returns, at most once in sum. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { nounFor } from "../../platform/words/quantities.ts";
import type { Points } from "../../platform/words/units.ts";
import type { EventKey, EventName, MonthChange } from "./ledger.ts";
import { negative, skipFirst, sum, takeFirst } from "./month-changes.ts";
import {
  type Change,
  checkLimits,
  type Event,
  type ExpiredPointsPolicy,
  requireNotFrozen,
  type State,
  withRestored,
} from "./points.ts";

/** The points that a use, or a capture of a hold, has taken for good. */
export interface Spent {
  readonly event: EventName;
  /** Oldest month first. */
  readonly months: readonly MonthChange[];
  /** When the points were taken from these months. */
  readonly since: Instant;
  readonly refundedPoints: Points;
}

/** The points that a use has taken. */
export const spentByUse = ({ entry, reversedPoints }: EventKey): Spent => ({
  event: entry.event,
  months: entry.changes.map(negative),
  since: entry.createTime,
  refundedPoints: reversedPoints,
});

/**
 * Returns points of a use or a capture to their months, newest month first. Without `points` it
 * returns all that were not refunded before. The policy decides about points whose month has
 * expired since. Refusals: ACCOUNT_FROZEN, and LIMIT_EXCEEDED beyond what is left of the use or the
 * capture, or the limits of an account.
 */
export function refund(
  state: State,
  event: Event,
  spent: Spent,
  points: Points | undefined,
  expiredPointsPolicy: ExpiredPointsPolicy,
): Change {
  const refundable = sum(spent.months) - spent.refundedPoints;
  const wanted = points ?? refundable;
  if (wanted > refundable || refundable === 0) {
    const message = `${refundable} ${nounFor(refundable, "point")} of this event can be refunded`;
    throw new DomainError("LIMIT_EXCEEDED", message, {
      refundable_points: String(refundable),
    });
  }
  const before = requireNotFrozen(state);
  const newestFirst = spent.months.toReversed();
  const months = takeFirst(skipFirst(newestFirst, spent.refundedPoints), wanted).reverse();
  const restored = { months, since: spent.since };
  const refunded = { ...event, type: "REFUNDED", relatedEvent: spent.event } as const;
  const change = withRestored(state, before, refunded, restored, expiredPointsPolicy);
  checkLimits(change.account);
  return change;
}
