/** Sums up the rows of a sheet and finds them by user, with a few bytes for each row. */

import type { Month } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import type { Revision } from "../rules/bulk-grant.ts";
import {
  type BulkGrantSummary,
  histogramOf,
  keepLargest,
  type MonthTotal,
  maxLargestRows,
  maxReasons,
  type ReasonsTotal,
  type RevisionDifference,
  reasonGroupOf,
  type UserPoints,
} from "../rules/bulk-grant-summary.ts";
import { expireMonthOf, type SheetRow } from "../rules/sheet.ts";
import { createSeenTexts } from "./seen-texts.ts";

/** The part of the summary that follows from the rows of the sheet alone. */
type RowsSummary = Pick<
  BulkGrantSummary,
  "rowCount" | "minPoints" | "medianPoints" | "maxPoints" | "largestRows" | "histogram"
>;

/** The rows of a group of reasons, which differ only in their numbers. */
interface ReasonRows {
  /** The number of the first of the rows in the sheet, from 0 on. */
  readonly firstRow: number;
  readonly reasonCount: number;
  readonly rowCount: number;
  readonly points: Points;
}

/** The groups of reasons with the most points, at most `maxReasons`, and all others. */
interface ReasonsSummary {
  readonly largest: readonly ReasonRows[];
  readonly others: ReasonsTotal;
}

/** The rows of a sheet that are right in themselves. Each user has one of them. */
export interface SheetIndex {
  /** Adds the row with this number in the sheet, from 0 on. */
  add(row: SheetRow, number: number): void;
  summary(): RowsSummary;
  reasons(): ReasonsSummary;
  /** The rows by their month of expiry, the earliest first. */
  months(): readonly MonthTotal[];
  /** Compares with the rows of the revision `before`. */
  compareRevision(before?: Pick<Revision, "expireMonth">): Comparison<RevisionDifference>;
  compareBulkGrant(): Comparison<CommonUsers>;
}

/** The users that two sheets have in common. */
interface CommonUsers {
  readonly sameUserCount: number;
  readonly samePointsCount: number;
}

/** Compares the rows of another sheet, which are added, with the indexed ones. */
interface Comparison<T> {
  add(row: SheetRow): void;
  result(): T;
}

/**
 * Creates the index of a sheet with up to `capacity` rows. It takes about 55 bytes for each, and 30
 * more for each reason.
 */
export function createSheetIndex(
  capacity: number,
  sheet: Pick<Revision, "expireMonth"> = {},
): SheetIndex {
  const users = createSeenTexts();
  const points = new Uint32Array(capacity);
  const reasonNumbers = new Uint32Array(capacity);
  const months = new Float64Array(capacity);
  const monthTotals = new Map<number, MonthTotal>();
  const reasons = createReasonTotals(capacity);
  const largestRows: UserPoints[] = [];
  let count = 0;

  /** The place of the user's row in the arrays. */
  const find = (userId: string): number | undefined => {
    const number = users.numberOf(userId);
    return number === undefined ? undefined : number - 1;
  };

  return {
    add(row, number) {
      users.firstNumber(row.userId, count + 1);
      points[count] = row.points;
      reasonNumbers[count] = reasons.add(row, number);
      months[count] = expireMonthOf(row, sheet) ?? lifetimeMonth;
      addTo(monthTotals, row, expireMonthOf(row, sheet));
      keepLargest(largestRows, { userId: row.userId, points: row.points }, maxLargestRows);
      count += 1;
    },

    summary() {
      const sorted = points.slice(0, count).sort();
      return {
        rowCount: count,
        minPoints: sorted[0] ?? 0,
        medianPoints: sorted[(count - 1) >> 1] ?? 0,
        maxPoints: sorted[count - 1] ?? 0,
        largestRows,
        histogram: histogramOf(sorted),
      };
    },

    reasons: reasons.result,

    months: () => [...monthTotals.entries()].sort(([a], [b]) => a - b).map(([, total]) => total),

    compareRevision(before = {}) {
      let [sameUserCount, removedCount, changedCount] = [0, 0, 0];
      let [rowCountBefore, pointsBefore] = [0, 0];
      return {
        add(row) {
          rowCountBefore += 1;
          pointsBefore += row.points;
          const at = find(row.userId);
          if (at === undefined) {
            removedCount += 1;
            return;
          }
          sameUserCount += 1;
          const isSame =
            points[at] === row.points &&
            reasonNumbers[at] === reasons.numberOf(row.reason) &&
            months[at] === (expireMonthOf(row, before) ?? lifetimeMonth);
          if (!isSame) changedCount += 1;
        },
        result: () => ({
          addedCount: count - sameUserCount,
          removedCount,
          changedCount,
          rowCountBefore,
          pointsBefore,
        }),
      };
    },

    compareBulkGrant() {
      // A user may have rows in several revisions of the other bulk grant, and counts once.
      const [hasUser, hasPoints] = [new Uint8Array(count), new Uint8Array(count)];
      return {
        add({ userId, points: others }) {
          const at = find(userId);
          if (at === undefined) return;
          hasUser[at] = 1;
          if (points[at] === others) hasPoints[at] = 1;
        },
        result: () => ({ sameUserCount: ones(hasUser), samePointsCount: ones(hasPoints) }),
      };
    },
  };
}

/** Stands for no month of expiry: later than all. */
const lifetimeMonth = Number.POSITIVE_INFINITY;

function addTo(
  totals: Map<number, MonthTotal>,
  { points }: SheetRow,
  expireMonth: Month | undefined,
): void {
  const key = expireMonth ?? lifetimeMonth;
  const before = totals.get(key) ?? { rowCount: 0, points: 0 };
  totals.set(key, {
    expireMonth,
    rowCount: before.rowCount + 1,
    points: before.points + points,
  });
}

const ones = (flags: Uint8Array): number => flags.reduce((sum, flag) => sum + flag, 0);

/** Adds up rows by their reason, where reasons that differ only in their numbers are a group. */
function createReasonTotals(capacity: number) {
  const numbers = createSeenTexts();
  const groupNumbers = createSeenTexts();
  const groups = new Uint32Array(capacity);
  const points = new Float64Array(capacity);
  const rowCounts = new Uint32Array(capacity);
  const reasonCounts = new Uint32Array(capacity);
  const firstRows = new Uint32Array(capacity);
  let [count, groupCount] = [0, 0];

  /** The number of the row's reason, from 1 on. */
  function numberFor({ reason }: SheetRow, row: number): number {
    const known = numbers.firstNumber(reason, count + 1);
    if (known !== undefined) return known;
    const group = groupFor(reason, row);
    groups[count] = group;
    reasonCounts[group] = (reasonCounts[group] ?? 0) + 1;
    count += 1;
    return count;
  }

  /** The number of the reason's group, from 0 on. */
  function groupFor(reason: string, row: number): number {
    const known = groupNumbers.firstNumber(reasonGroupOf(reason), groupCount + 1);
    if (known !== undefined) return known - 1;
    firstRows[groupCount] = row;
    groupCount += 1;
    return groupCount - 1;
  }

  return {
    add(row: SheetRow, number: number): number {
      const reason = numberFor(row, number);
      const group = groups[reason - 1] ?? 0;
      points[group] = (points[group] ?? 0) + row.points;
      rowCounts[group] = (rowCounts[group] ?? 0) + 1;
      return reason;
    },

    numberOf: numbers.numberOf,

    result(): ReasonsSummary {
      const largest: ReasonRows[] = [];
      const others = { reasonCount: count, rowCount: 0, points: 0 };
      for (let i = 0; i < groupCount; i++) {
        const total = {
          firstRow: firstRows[i] ?? 0,
          reasonCount: reasonCounts[i] ?? 0,
          rowCount: rowCounts[i] ?? 0,
          points: points[i] ?? 0,
        };
        others.rowCount += total.rowCount;
        others.points += total.points;
        keepLargest(largest, total, maxReasons);
      }
      for (const { reasonCount, rowCount, points } of largest) {
        others.reasonCount -= reasonCount;
        others.rowCount -= rowCount;
        others.points -= points;
      }
      return { largest, others };
    },
  };
}
