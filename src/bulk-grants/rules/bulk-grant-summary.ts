/** The summary of a revision that its approvers read, and the conditions of its warnings. */

import { skeletonOf } from "../../platform/words/display-text.ts";
import { type Instant, type Month, monthAt } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { expireTime, lifetimeAt } from "../../points/rules/account.ts";
import { bucketMonth, whyImpossible } from "../../points/rules/early-expiry.ts";
import type { Program } from "../../points/rules/program.ts";
import { type BulkGrant, type BulkGrantState, isRevocation } from "./bulk-grant.ts";
import type { SheetReading } from "./sheet-reading.ts";
import type { SheetWarning } from "./sheet-warning.ts";

/** The summary of a revision. It never changes. Rows that are wrong in themselves are left out. */
export interface BulkGrantSummary {
  readonly rowCount: number;
  /** 0 without rows, as the next two. */
  readonly minPoints: Points;
  /** The points of the row in the middle; of an even number of rows, the smaller of the two. */
  readonly medianPoints: Points;
  readonly maxPoints: Points;
  /** The groups of reasons with the most points, at most `maxReasons`. */
  readonly reasons: readonly ReasonTotal[];
  /** All other reasons; absent when there are none. */
  readonly otherReasons?: ReasonsTotal | undefined;
  /** The rows by their month of expiry, the earliest first; absent when no row has one. */
  readonly expireMonths?: readonly MonthTotal[] | undefined;
  /** The rows with the most points, at most `maxLargestRows`. */
  readonly largestRows: readonly UserPoints[];
  /** How many rows have points in each range that has any, by rising points. */
  readonly histogram: readonly PointsRange[];
  /** The users who get an account by this bulk grant. */
  readonly withoutAccountCount: number;
  readonly frozenCount: number;
  /** The difference from the revision before; absent for the first one. */
  readonly difference?: RevisionDifference | undefined;
  /** How many other bulk grants were compared. */
  readonly comparedCount: number;
  /** The compared bulk grants with users of this one, the most users first. */
  readonly overlaps: readonly Overlap[];
  /** The ids of other bulk grants whose titles look like its own; absent when there are none. */
  readonly lookAlikes?: readonly string[] | undefined;
  /** How the sheet was understood; absent for rows without a sheet, and for a reversal. */
  readonly reading?: SheetReading | undefined;
  /** The warnings of all rows, those that are wrong in themselves included; absent without any. */
  readonly warnings?: readonly SheetWarning[] | undefined;
}

/** The rows with one reason, or with reasons that differ only in their numbers, and their sum. */
export interface ReasonTotal {
  /** The reason or, of several ones, their text with `#` for each number. */
  readonly reason: string;
  readonly rowCount: number;
  readonly points: Points;
  /** The number of different reasons; absent for one. */
  readonly variantCount?: number | undefined;
}

/** The rows whose points expire at the end of a month, and their sum. */
export interface MonthTotal {
  /** Undefined for the rows whose points last for the whole lifetime. */
  readonly expireMonth: Month | undefined;
  readonly rowCount: number;
  readonly points: Points;
}

/** The rows with several reasons, and their sum. */
export interface ReasonsTotal {
  readonly reasonCount: number;
  readonly rowCount: number;
  readonly points: Points;
}

export interface UserPoints {
  readonly userId: string;
  readonly points: Points;
}

/** The rows with `minPoints` to `maxPoints`. */
export interface PointsRange {
  readonly minPoints: Points;
  readonly maxPoints: Points;
  readonly rowCount: number;
}

/** The difference from the revision before. Rows are compared by their users. */
export interface RevisionDifference {
  readonly addedCount: number;
  readonly removedCount: number;
  /** The users who are in both with other points or another reason. */
  readonly changedCount: number;
  readonly rowCountBefore: number;
  readonly pointsBefore: Points;
}

/** The users and points that another bulk grant of the program has in common with this one. */
export interface Overlap {
  readonly bulkGrantId: string;
  /** When it was compared. In an active state, all its rows count, granted or not. */
  readonly state: BulkGrantState;
  /** When its run began; before that its execute time, or when it was submitted. */
  readonly time: Instant;
  readonly sameUserCount: number;
  /** The users who have the same points in both. */
  readonly samePointsCount: number;
  /** A reversal of it that has ended. */
  readonly reversalId?: string | undefined;
}

/** At most so many bulk grants with a title that looks alike are named. */
const maxLookAlikes = 5;

/** The name by which a bulk grant is shown: its title, or its id. */
const shownNameOf = ({ bulkGrantId, revision }: BulkGrant): string => revision.title ?? bulkGrantId;

/**
 * Returns the ids of the other bulk grants that people may take for this one: their shown names are
 * different texts that look alike (`skeletonOf`).
 */
export function lookAlikesOf(bulkGrant: BulkGrant, others: readonly BulkGrant[]): string[] {
  const name = shownNameOf(bulkGrant);
  const skeleton = skeletonOf(name);
  return others
    .filter((other) => shownNameOf(other) !== name && skeletonOf(shownNameOf(other)) === skeleton)
    .map(({ bulkGrantId }) => bulkGrantId)
    .slice(0, maxLookAlikes);
}

export const maxReasons = 10;
export const maxLargestRows = 10;
/** A right sheet has at most 37: each month of the longest lifetime, and none. */
export const maxExpireMonths = 40;

/** A number: digits of any script, also full-width ones, with points and commas between them. */
const numbers = /\p{Nd}+(?:[.,\uff0c\uff0e]\p{Nd}+)*/gu;

/**
 * Returns the same for reasons that differ only in their numbers. No reason of a right row has the
 * control character that stands for a number, so a `#` of a reason itself is not taken for one.
 */
export const reasonGroupOf = (reason: string): string => reason.replace(numbers, "\0");

/** The text for all reasons that differ from this one only in their numbers. */
export const withoutNumbers = (reason: string): string => reason.replace(numbers, "#");

/** Adds an item to those with the most points, which are in falling order, and keeps `size`. */
export function keepLargest<T extends { readonly points: Points }>(
  kept: T[],
  item: T,
  size: number,
): void {
  const after = kept.findIndex(({ points }) => points < item.points);
  if (after === -1 && kept.length === size) return;
  kept.splice(after === -1 ? kept.length : after, 0, item);
  if (kept.length > size) kept.pop();
}

/** The lower ends of the ranges of a histogram: 1, 2, 5, 10, 20, 50 and so on. */
const rangeStarts = Array.from({ length: 10 }, (_, digits) =>
  [1, 2, 5].map((first) => first * 10 ** digits),
).flat();

/** Returns how many of the points, in rising order, are in each range. */
export function histogramOf(sortedPoints: Uint32Array): PointsRange[] {
  const ranges: PointsRange[] = [];
  let from = 0;
  for (const [i, minPoints] of rangeStarts.entries()) {
    const end = rangeStarts[i + 1] ?? Number.POSITIVE_INFINITY;
    let to = from;
    while (to < sortedPoints.length && (sortedPoints[to] as number) < end) to += 1;
    if (to > from) ranges.push({ minPoints, maxPoints: end - 1, rowCount: to - from });
    from = to;
  }
  return ranges;
}

/**
 * Returns when the points of a bulk grant expire, if nothing changes: granted at its execute time,
 * or at `now` when that is later or absent; of rows with a month of their own, see `expireMonths`.
 * Undefined for what revokes, and when no grant can expire at the month of the bulk grant any more.
 */
export function grantedPointsExpireTime(
  { revision, startTime }: BulkGrant,
  program: Program,
  now: Instant,
): Instant | undefined {
  if (isRevocation(revision)) return undefined;
  const grantTime = startTime ?? Math.max(revision.executeTime ?? now, now);
  const [current, lifetime] = [
    monthAt(program.timeZone, grantTime),
    lifetimeAt(program, grantTime),
  ];
  if (whyImpossible(current, lifetime, revision) !== undefined) return undefined;
  return expireTime(program, bucketMonth(current, lifetime, revision), grantTime);
}

/** A warning names a bulk grant that has at least this part of the users. */
const warnedPart = 0.1;

/** Returns the overlaps of which people are warned. A reversed bulk grant is none of them. */
export const warnedOverlaps = ({ overlaps, rowCount }: BulkGrantSummary): Overlap[] =>
  overlaps.filter(
    ({ sameUserCount, reversalId }) =>
      reversalId === undefined && sameUserCount >= rowCount * warnedPart,
  );
