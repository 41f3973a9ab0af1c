/** The points that a capture of a hold has taken, as a refund returns them. */

import type { EventKey } from "../../points/rules/ledger.ts";
import { skipFirst, takeFirst } from "../../points/rules/month-changes.ts";
import type { Spent } from "../../points/rules/refund.ts";
import type { Hold } from "./hold.ts";

/** The points that a capture of a hold has taken: those after the points of earlier captures. */
export const spentByCapture = (held: Hold, captured: EventKey): Spent => ({
  event: captured.entry.event,
  months: takeFirst(skipFirst(held.months, captured.earlierPoints ?? 0), captured.entry.points),
  since: held.heldTime,
  refundedPoints: captured.reversedPoints,
});
