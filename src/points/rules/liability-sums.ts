/** The sums of what a program owes, over some of its accounts. */

/** Sums by name, as decimals: those of many accounts may exceed the safe integers of one. */
type Sums = Readonly<Record<string, string>>;

/** The sum over some accounts. It is plain JSON of bounded size, which heartbeats contain. */
export interface Liability {
  /** The number of accounts that existed. */
  readonly accounts: number;
  /** The number of accounts with points, held ones included. */
  readonly members: number;
  /** The outstanding points by month of grant: the number of the month. */
  readonly months: Sums;
  /** What became of points in the period, by the names of `Totals`. */
  readonly totals: Sums;
  /** The points that are held, which are in no month; absent when there are none. */
  readonly held?: string;
}

export const noLiability: Liability = { accounts: 0, members: 0, months: {}, totals: {} };

/** Adds two sums. Throws a SyntaxError when one contains what is no whole number. */
export function addLiability(total: Liability, next: Liability): Liability {
  const { held } = addSums(heldOf(total), heldOf(next));
  return {
    accounts: total.accounts + next.accounts,
    members: total.members + next.members,
    months: addSums(total.months, next.months),
    totals: addSums(total.totals, next.totals),
    ...(held !== undefined && { held }),
  };
}

const heldOf = ({ held }: Liability): Sums => (held === undefined ? {} : { held });

function addSums(total: Sums, next: Sums): Sums {
  const sums = { ...total };
  for (const [name, sum] of Object.entries(next)) {
    sums[name] = String(BigInt(sums[name] ?? 0) + BigInt(sum));
  }
  return sums;
}
