/** The points that a capture of a hold has taken, and their refunds. */

import type { Points } from "../../platform/words/units.ts";
import { skipFirst, takeFirst } from "../../points/rules/month-changes.ts";
import type { Spent } from "../../points/rules/refund.ts";
import { capturedPointsOf, captureEvent, type Hold } from "./hold.ts";

/** The points that a capture of a hold has taken. Undefined when the hold has no such capture. */
export function spentByCapture(held: Hold, eventId: string): Spent | undefined {
  const i = held.captures.findIndex((each) => each.eventId === eventId);
  const captured = held.captures[i];
  if (!captured) return undefined;
  const earlier = capturedPointsOf({ captures: held.captures.slice(0, i) });
  return {
    event: captureEvent(held.holdId, eventId),
    months: takeFirst(skipFirst(held.months, earlier), captured.points),
    since: held.heldTime,
    refundedPoints: captured.refundedPoints ?? 0,
  };
}

/** The hold after a refund of one of its captures. */
export const withRefund = (held: Hold, eventId: string, points: Points): Hold => ({
  ...held,
  captures: held.captures.map((each) =>
    each.eventId === eventId
      ? { ...each, refundedPoints: (each.refundedPoints ?? 0) + points }
      : each,
  ),
});
