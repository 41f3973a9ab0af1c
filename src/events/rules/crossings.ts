/** The crossings of balances: which limits of its program an entry has moved an account over. */
import type { Points } from "../../platform/words/units.ts";
import type { BalanceLimits } from "../../points/rules/balance-limits.ts";
import type { LedgerEntry } from "../../points/rules/ledger.ts";
import { sum } from "../../points/rules/month-changes.ts";

/** A limit that the available points of an account were moved over. */
export interface Crossing {
  readonly direction: "BELOW" | "ABOVE";
  readonly limit: Points;
  readonly previousPoints: Points;
  readonly points: Points;
}

/**
 * The limits that an entry has crossed, in the order in which the balance met them. The entry alone
 * says what was available before it: each entry has all changes of the months.
 */
export function crossingsOf(
  { availablePoints: points, changes }: Pick<LedgerEntry, "availablePoints" | "changes">,
  { below, above }: BalanceLimits,
): readonly Crossing[] {
  const previousPoints = points - sum(changes);
  const fallen = below.filter((limit) => previousPoints >= limit && points < limit);
  const risen = above.filter((limit) => previousPoints <= limit && points > limit);
  const crossing = (direction: Crossing["direction"]) => (limit: Points) => ({
    direction,
    limit,
    previousPoints,
    points,
  });
  return [
    ...fallen.toSorted((a, b) => b - a).map(crossing("BELOW")),
    ...risen.toSorted((a, b) => a - b).map(crossing("ABOVE")),
  ];
}
