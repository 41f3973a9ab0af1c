/** What a program owes its members: the sum over its accounts at an instant, and since another. */

import type { Caller } from "../../platform/words/caller.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import type { Account } from "./account.ts";
import { buckets } from "./account.ts";
import { heldNow } from "./ledger.ts";
import { type Liability, noLiability } from "./liability-sums.ts";
import type { Program } from "./program.ts";
import { expireTime } from "./program.ts";

/** A report on the liability of a program. */
export interface LiabilityReport {
  readonly programId: string;
  readonly reportId: string;
  /** The hash of the request. */
  readonly hash: string;
  /** Who asked for it first. */
  readonly caller: Caller;
  /** When it was asked for: entries that were recorded later are not in it. */
  readonly asOf: Instant;
  /** The instant after which the totals begin; absent for the totals of all time. */
  readonly since?: Instant;
  /** Absent until all accounts are read. */
  readonly result?: LiabilityResult;
}

/** The sums of a report. */
export interface LiabilityResult extends Omit<Liability, "months"> {
  readonly endTime: Instant;
  /** The sum of the buckets. */
  readonly outstanding: string;
  /** The months with outstanding points, oldest first. */
  readonly buckets: readonly LiabilityBucket[];
  /** The number of accounts that could not be read, which are in no sum. */
  readonly failed: number;
  /** The first of them. */
  readonly failures: readonly LiabilityFailure[];
}

/** The points that were granted in a month and are outstanding, and when they expire. */
export interface LiabilityBucket {
  readonly month: Month;
  readonly expireTime: Instant;
  readonly points: string;
}

/** An account that could not be read, with a reason of `errors.ts` or INTERNAL. */
interface LiabilityFailure {
  readonly userId: string;
  readonly reason: string;
}

/** A sum, and the accounts that could not be added. */
export type CountedLiability = Liability & Pick<LiabilityResult, "failed" | "failures">;

/** A record names at most this many accounts that could not be read. */
const maxNamed = 20;

/**
 * Returns what one account adds: `end` is the account as of the end of the period, `start` as of
 * its start, both after the expiry of what was due. Without a start the period is all time.
 */
export function liabilityOf(end: Account, start: Account | undefined): Liability {
  if (end.last === 0) return noLiability;
  const outstanding = buckets(end);
  const heldPoints = heldNow(end.totals);
  const before: Readonly<Record<string, number>> = { ...start?.totals };
  return {
    accounts: 1,
    members: outstanding.length > 0 || heldPoints > 0 ? 1 : 0,
    ...(heldPoints > 0 && { held: String(heldPoints) }),
    months: Object.fromEntries(outstanding.map(({ month, points }) => [month, String(points)])),
    totals: Object.fromEntries(
      Object.entries(end.totals).map(([name, points]) => [
        name,
        String(points - (before[name] ?? 0)),
      ]),
    ),
  };
}

/**
 * Returns the report with its result, which replaces one that it has: a report that is doubted is
 * made again. The program is the one of the instant of the report.
 */
export function finishReport(
  report: LiabilityReport,
  program: Program,
  { months, ...counts }: CountedLiability,
  endTime: Instant,
): LiabilityReport {
  const outstanding = Object.entries(months).map(([month, points]) => ({
    month: Number(month),
    expireTime: expireTime(program, Number(month), report.asOf),
    points,
  }));
  const result = {
    ...counts,
    endTime,
    outstanding: String(outstanding.reduce((sum, { points }) => sum + BigInt(points), 0n)),
    buckets: outstanding.toSorted((a, b) => a.month - b.month),
    failures: counts.failures.slice(0, maxNamed),
  };
  return { ...report, result };
}
