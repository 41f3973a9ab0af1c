/** Maps the summary of a revision to its message. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BulkGrantSummarySchema } from "../../gen/meguri/bulkgrants/v1/bulk_grant_summary_pb.ts";
import { fromInstant, fromOptionalMonth } from "../../platform/messages/scalars.ts";
import type { RevisionDifference } from "../rules/bulk-grant-summary.ts";
import type { ReadSummary } from "../use-cases/summarize.ts";
import { fromState } from "./messages.ts";

/** The message of a summary. */
export const fromSummary = ({
  revision,
  summary,
  warned,
  expireTime,
}: ReadSummary): MessageInitShape<typeof BulkGrantSummarySchema> => ({
  revision,
  rowCount: summary.rowCount,
  minPoints: BigInt(summary.minPoints),
  medianPoints: BigInt(summary.medianPoints),
  maxPoints: BigInt(summary.maxPoints),
  reasons: summary.reasons.map(withBigPoints),
  ...(summary.otherReasons && { otherReasons: withBigPoints(summary.otherReasons) }),
  expireMonths: (summary.expireMonths ?? []).map(({ expireMonth, ...sum }) => ({
    ...withBigPoints(sum),
    expireMonth: fromOptionalMonth(expireMonth),
  })),
  largestRows: summary.largestRows.map(withBigPoints),
  histogram: summary.histogram.map(({ minPoints, maxPoints, rowCount }) => ({
    minPoints: BigInt(minPoints),
    maxPoints: BigInt(maxPoints),
    rowCount,
  })),
  withoutAccountCount: summary.withoutAccountCount,
  frozenCount: summary.frozenCount,
  ...(expireTime !== undefined && { expireTime: fromInstant(expireTime) }),
  ...(summary.difference && { difference: fromDifference(summary.difference) }),
  comparedCount: summary.comparedCount,
  lookAlikeBulkGrantIds: [...(summary.lookAlikes ?? [])],
  overlaps: summary.overlaps.map((overlap) => ({
    ...overlap,
    state: fromState(overlap.state),
    time: fromInstant(overlap.time),
    warned: warned.includes(overlap),
  })),
});

const withBigPoints = <T extends { readonly points: number }>(value: T) => ({
  ...value,
  points: BigInt(value.points),
});

const fromDifference = ({ rowCountBefore, pointsBefore, ...counts }: RevisionDifference) => ({
  ...counts,
  previousRowCount: rowCountBefore,
  previousPoints: BigInt(pointsBefore),
});
