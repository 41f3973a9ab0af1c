/** Points by month, oldest first or newest first: parts and sums of them. */

import type { Points } from "../../platform/words/units.ts";
import type { MonthChange } from "./ledger.ts";

/** Returns the first `points` of the changes, month by month. */
export function takeFirst(changes: readonly MonthChange[], points: Points): MonthChange[] {
  const taken: MonthChange[] = [];
  let left = points;
  for (const { month, points: available } of changes) {
    if (left === 0) break;
    const part = Math.min(left, available);
    taken.push({ month, points: part });
    left -= part;
  }
  return taken;
}

/** Returns the changes without their first `points`. */
export function skipFirst(changes: readonly MonthChange[], points: Points): MonthChange[] {
  let left = points;
  return changes.flatMap(({ month, points: available }) => {
    const skipped = Math.min(left, available);
    left -= skipped;
    return skipped < available ? [{ month, points: available - skipped }] : [];
  });
}

export const negative = ({ month, points }: MonthChange): MonthChange => ({
  month,
  points: -points,
});

export const sum = (changes: readonly MonthChange[]): number =>
  changes.reduce((total, { points }) => total + points, 0);
