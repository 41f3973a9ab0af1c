/** Maps the summary of a revision to its message. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BulkGrantSummarySchema } from "../../gen/meguri/bulkgrants/v1/bulk_grant_summary_pb.ts";
import { fromRecord } from "../../platform/messages/records.ts";
import { fromOptionalMonth } from "../../platform/messages/scalars.ts";
import type { ReadSummary } from "../use-cases/summarize.ts";

/** The message of a summary. */
export const fromSummary = ({
  revision,
  summary: { difference, lookAlikes, ...summary },
  warned,
  expireTime,
}: ReadSummary): MessageInitShape<typeof BulkGrantSummarySchema> =>
  fromRecord(BulkGrantSummarySchema, {
    ...summary,
    revision,
    expireTime,
    expireMonths: summary.expireMonths?.map((sum) => ({
      ...sum,
      expireMonth: fromOptionalMonth(sum.expireMonth),
    })),
    difference: difference && {
      ...difference,
      previousRowCount: difference.rowCountBefore,
      previousPoints: difference.pointsBefore,
    },
    lookAlikeBulkGrantIds: lookAlikes,
    overlaps: summary.overlaps.map((overlap) => ({ ...overlap, warned: warned.includes(overlap) })),
  });
