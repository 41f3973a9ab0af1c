/** The limits of the available points of accounts whose crossings are events. */
import type { Points } from "../../platform/words/units.ts";

/** The limits of a program, each list in order and without doubles. */
export interface BalanceLimits {
  /** An account that had this many points or more and has fewer now has crossed it. */
  readonly below: readonly Points[];
  /** An account that had this many points or fewer and has more now has crossed it. */
  readonly above: readonly Points[];
}

export const noLimits: BalanceLimits = { below: [], above: [] };

/** The limits in order, as they are stored and answered. */
export const inOrder = ({ below, above }: BalanceLimits): BalanceLimits => ({
  below: below.toSorted((a, b) => a - b),
  above: above.toSorted((a, b) => a - b),
});

export const isSameLimits = (one: BalanceLimits, other: BalanceLimits): boolean =>
  isSameList(one.below, other.below) && isSameList(one.above, other.above);

const isSameList = (one: readonly Points[], other: readonly Points[]): boolean =>
  one.length === other.length && one.every((limit, i) => limit === other[i]);
