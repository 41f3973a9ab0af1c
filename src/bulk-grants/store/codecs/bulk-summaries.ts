/** How the summary of a revision is stored: as one item, with lists of values instead of maps. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { type Item, N, num, numbers, nums, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import type { BulkGrantState } from "../../rules/bulk-grant.ts";
import type { BulkGrantSummary, MonthTotal, Overlap } from "../../rules/bulk-grant-summary.ts";
import { numberedKey } from "./bulk-keys.ts";

export const bulkSummary: Codec<"bulkSummary"> = {
  table: "bulk",
  key: (id) => numberedKey("S", id),
  encode: (summary) => ({
    k: N(summary.rowCount),
    p: numbers([summary.minPoints, summary.medianPoints, summary.maxPoints]),
    t: { L: summary.reasons.map((each) => list(S(each.reason), each.rowCount, each.points)) },
    ...(summary.otherReasons && { q: encodeOthers(summary.otherReasons) }),
    ...(summary.expireMonths && {
      m: {
        L: summary.expireMonths.map(({ expireMonth = 0, rowCount, points }) =>
          numbers([expireMonth, rowCount, points]),
        ),
      },
    }),
    l: { L: summary.largestRows.map(({ userId, points }) => list(S(userId), points)) },
    h: {
      L: summary.histogram.map((each) => numbers([each.minPoints, each.maxPoints, each.rowCount])),
    },
    a: numbers([summary.withoutAccountCount, summary.frozenCount]),
    ...(summary.difference && { d: encodeDifference(summary.difference) }),
    n: N(summary.comparedCount),
    o: { L: summary.overlaps.map(encodeOverlap) },
    ...(summary.lookAlikes && { s: { L: summary.lookAlikes.map(S) } }),
  }),
  decode: (item) => {
    const [minPoints = 0, medianPoints = 0, maxPoints = 0] = nums(item, "p");
    const [withoutAccountCount = 0, frozenCount = 0] = nums(item, "a");
    return {
      ...{ rowCount: num(item, "k"), minPoints, medianPoints, maxPoints },
      reasons: lists(item, "t").map(([reason, rowCount, points]) => ({
        ...{ reason: textOf(reason), rowCount: numberOf(rowCount), points: numberOf(points) },
      })),
      ...(item.q && { otherReasons: decodeOthers(item) }),
      ...(item.m && { expireMonths: lists(item, "m").map(decodeMonth) }),
      largestRows: lists(item, "l").map(([userId, points]) => ({
        ...{ userId: textOf(userId), points: numberOf(points) },
      })),
      histogram: lists(item, "h").map((values) => {
        const [minPoints = 0, maxPoints = 0, rowCount = 0] = values.map(numberOf);
        return { minPoints, maxPoints, rowCount };
      }),
      ...{ withoutAccountCount, frozenCount },
      ...(item.d && { difference: decodeDifference(item) }),
      comparedCount: num(item, "n"),
      overlaps: lists(item, "o").map(decodeOverlap),
      ...(item.s && { lookAlikes: (item.s.L ?? []).map(textOf) }),
    };
  },
};

/** A list that begins with a text. */
const list = (first: AttributeValue, ...further: number[]): AttributeValue => ({
  L: [first, ...further.map(N)],
});

const lists = (item: Item, name: string): AttributeValue[][] =>
  (item[name]?.L ?? []).map(({ L = [] }) => L);

const textOf = (value: AttributeValue | undefined): string => value?.S ?? "";
const numberOf = (value: AttributeValue | undefined): number => Number(value?.N ?? 0);

/** The month 0 stands for none. */
function decodeMonth(values: readonly AttributeValue[]): MonthTotal {
  const [expireMonth = 0, rowCount = 0, points = 0] = values.map(numberOf);
  return { expireMonth: expireMonth || undefined, rowCount, points };
}

type Others = NonNullable<BulkGrantSummary["otherReasons"]>;

const encodeOthers = ({ reasonCount, rowCount, points }: Others) =>
  numbers([reasonCount, rowCount, points]);

function decodeOthers(item: Item): Others {
  const [reasonCount = 0, rowCount = 0, points = 0] = nums(item, "q");
  return { reasonCount, rowCount, points };
}

type Difference = NonNullable<BulkGrantSummary["difference"]>;

const encodeDifference = (difference: Difference) =>
  numbers([
    difference.addedCount,
    difference.removedCount,
    difference.changedCount,
    difference.rowCountBefore,
    difference.pointsBefore,
  ]);

function decodeDifference(item: Item): Difference {
  const [addedCount = 0, removedCount = 0, changedCount = 0, rowCountBefore = 0, pointsBefore = 0] =
    nums(item, "d");
  return { addedCount, removedCount, changedCount, rowCountBefore, pointsBefore };
}

const encodeOverlap = (overlap: Overlap): AttributeValue => ({
  L: [
    S(overlap.bulkGrantId),
    S(overlap.state),
    ...[overlap.time, overlap.sameUserCount, overlap.samePointsCount].map(N),
    ...(overlap.reversalId === undefined ? [] : [S(overlap.reversalId)]),
  ],
});

function decodeOverlap(values: readonly AttributeValue[]): Overlap {
  const [bulkGrantId, state, time, sameUserCount, samePointsCount, reversalId] = values;
  return {
    bulkGrantId: textOf(bulkGrantId),
    state: textOf(state) as BulkGrantState,
    time: numberOf(time),
    sameUserCount: numberOf(sameUserCount),
    samePointsCount: numberOf(samePointsCount),
    ...(reversalId && { reversalId: textOf(reversalId) }),
  };
}
