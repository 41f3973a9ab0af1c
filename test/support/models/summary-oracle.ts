/** What the summary of a revision has to say, computed from whole sheets in the simplest way. */
import type {
  BulkGrantSummary,
  PointsRange,
  RevisionDifference,
} from "../../../src/bulk-grants/rules/bulk-grant-summary.ts";
import type { Raw } from "./bulk-use-cases.ts";

/** The rows that are right in themselves. */
export function rightOf(rows: readonly Raw[]): Raw[] {
  const seen = new Set<string>();
  return rows.filter(({ userId, points }) => {
    const isFirst = !seen.has(userId);
    seen.add(userId);
    return isFirst && points >= 1;
  });
}

/** The summary of rows, without the accounts and the other bulk grants. */
export function summaryOf(rows: readonly Raw[], before: readonly Raw[] | undefined) {
  const right = rightOf(rows);
  const sorted = right.map(({ points }) => points).sort((a, b) => a - b);
  return {
    rowCount: right.length,
    minPoints: sorted[0] ?? 0,
    medianPoints: sorted[Math.ceil(sorted.length / 2) - 1] ?? 0,
    maxPoints: sorted.at(-1) ?? 0,
    ...reasonsOf(right),
    largestRows: right
      .map(({ userId, points }) => ({ userId, points }))
      .sort((a, b) => b.points - a.points)
      .slice(0, 10),
    histogram: histogramOf(sorted),
    ...(before && { difference: differenceOf(right, rightOf(before)) }),
  };
}

function reasonsOf(rows: readonly Raw[]): Pick<BulkGrantSummary, "reasons" | "otherReasons"> {
  const totals = [...Map.groupBy(rows, ({ reason }) => withoutDigits(reason))]
    .map(([pattern, of]) => {
      const texts = new Set(of.map(({ reason }) => reason));
      const [only] = texts.size === 1 ? texts : [];
      const total = { rowCount: of.length, points: sumOf(of) };
      return only === undefined
        ? { reason: pattern, ...total, variantCount: texts.size }
        : { reason: only, ...total };
    })
    .sort((a, b) => b.points - a.points);
  const others = totals.slice(10);
  if (others.length === 0) return { reasons: totals };
  const sumBy = (count: (total: (typeof totals)[number]) => number) =>
    others.reduce((sum, each) => sum + count(each), 0);
  return {
    reasons: totals.slice(0, 10),
    otherReasons: {
      reasonCount: sumBy((each) => ("variantCount" in each ? each.variantCount : 1)),
      rowCount: sumBy((each) => each.rowCount),
      points: sumOf(others),
    },
  };
}

/** The text with one `#` for each run of ASCII and full-width digits. */
function withoutDigits(text: string): string {
  const isDigit = (character: string) => "0123456789０１２３４５６７８９".includes(character);
  return [...text]
    .map((character) => (isDigit(character) ? "#" : character))
    .filter((character, i, all) => character !== "#" || all[i - 1] !== "#")
    .join("");
}

const sumOf = (all: readonly { readonly points: number }[]): number =>
  all.reduce((sum, { points }) => sum + points, 0);

/** The range of each value by its digits: 1, 2 to 4, or 5 to 9 of the highest power of ten. */
function histogramOf(values: readonly number[]): PointsRange[] {
  const ranges = new Map<number, PointsRange>();
  for (const value of values) {
    const power = 10 ** (String(value).length - 1);
    const first = Math.floor(value / power);
    const [from, to] = first < 2 ? [1, 2] : first < 5 ? [2, 5] : [5, 10];
    const [minPoints, maxPoints] = [from * power, to * power - 1];
    const rowCount = (ranges.get(minPoints)?.rowCount ?? 0) + 1;
    ranges.set(minPoints, { minPoints, maxPoints, rowCount });
  }
  return [...ranges.values()];
}

function differenceOf(rows: readonly Raw[], before: readonly Raw[]): RevisionDifference {
  const [now, old] = [byUser(rows), byUser(before)];
  const both = rows.flatMap((row) => {
    const other = old.get(row.userId);
    return other ? [{ row, other }] : [];
  });
  return {
    addedCount: rows.length - both.length,
    removedCount: before.filter(({ userId }) => !now.has(userId)).length,
    changedCount: both.filter(
      ({ row, other }) => row.points !== other.points || row.reason !== other.reason,
    ).length,
    rowCountBefore: before.length,
    pointsBefore: sumOf(before),
  };
}

/** What rows have in common with those of another bulk grant. */
export function commonOf(rows: readonly Raw[], others: readonly Raw[]) {
  const common = rightOf(rows).flatMap(({ userId, points }) => {
    const of = others.filter((other) => other.userId === userId);
    return of.length === 0 ? [] : [of.some((other) => other.points === points)];
  });
  return { sameUserCount: common.length, samePointsCount: common.filter(Boolean).length };
}

const byUser = (rows: readonly Raw[]) => new Map(rows.map((row) => [row.userId, row]));
