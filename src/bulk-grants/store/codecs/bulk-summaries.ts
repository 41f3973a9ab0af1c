/** How the summary of a revision is stored: as one item, with lists of values instead of maps. */
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  as,
  field,
  list,
  number,
  numberAt,
  oneOf,
  optional,
  type Type,
  text,
  tuple,
} from "../../../platform/dynamodb/fields.ts";
import type { BulkGrantState } from "../../rules/bulk-grant.ts";
import type {
  MonthTotal,
  Overlap,
  PointsRange,
  ReasonsTotal,
  ReasonTotal,
  RevisionDifference,
  UserPoints,
} from "../../rules/bulk-grant-summary.ts";
import { numberedKey } from "./bulk-keys.ts";
import { sheetReading } from "./sheet-readings.ts";
import { sheetWarning } from "./sheet-warnings.ts";

/** The month 0 stands for none. */
const monthTotal: Type<MonthTotal> = as(
  tuple<{ readonly expireMonth: number } & Omit<MonthTotal, "expireMonth">>({
    expireMonth: number,
    rowCount: number,
    points: number,
  }),
  (total) => ({ ...total, expireMonth: total.expireMonth ?? 0 }),
  (stored) => ({ ...stored, expireMonth: stored.expireMonth || undefined }),
);

export const bulkSummary = defineRecord<"bulkSummary">({
  table: "bulk",
  key: (id) => numberedKey("S", id),
  fields: {
    rowCount: field("k", number),
    minPoints: numberAt("p", 0),
    medianPoints: numberAt("p", 1),
    maxPoints: numberAt("p", 2),
    reasons: field(
      "t",
      list(
        tuple<ReasonTotal>(
          { reason: text, rowCount: number, points: number, variantCount: number },
          3,
        ),
      ),
    ),
    otherReasons: optional(
      "q",
      tuple<ReasonsTotal>({ reasonCount: number, rowCount: number, points: number }),
    ),
    expireMonths: optional("m", list(monthTotal)),
    largestRows: field("l", list(tuple<UserPoints>({ userId: text, points: number }))),
    histogram: field(
      "h",
      list(tuple<PointsRange>({ minPoints: number, maxPoints: number, rowCount: number })),
    ),
    withoutAccountCount: numberAt("a", 0),
    frozenCount: numberAt("a", 1),
    difference: optional(
      "d",
      tuple<RevisionDifference>({
        addedCount: number,
        removedCount: number,
        changedCount: number,
        rowCountBefore: number,
        pointsBefore: number,
      }),
    ),
    comparedCount: field("n", number),
    overlaps: field(
      "o",
      list(
        tuple<Overlap>(
          {
            bulkGrantId: text,
            state: oneOf<BulkGrantState>(),
            time: number,
            sameUserCount: number,
            samePointsCount: number,
            reversalId: text,
          },
          5,
        ),
      ),
    ),
    lookAlikes: optional("s", list(text)),
    reading: optional("rd", sheetReading),
    warnings: optional("w", list(sheetWarning)),
  },
});
