/** The handlers of the BulkGrantService that answer with a stream. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { writeAudit } from "../../app/bulk-grants/audit.ts";
import { readBulkGrant } from "../../app/bulk-grants/bulk-grant-record.ts";
import { failedRows } from "../../app/bulk-grants/queries.ts";
import { writeSheet } from "../../app/bulk-grants/write-sheet.ts";
import type { BulkGrantEvent } from "../../app/ports/bulk-grants.ts";
import type { Deps } from "../../app/ports/deps.ts";
import type { StreamEnd } from "../../app/ports/streams.ts";
import {
  type BulkGrantService,
  WatchBulkGrantResponse_End_Cause as Cause,
  type WatchBulkGrantResponseSchema,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { streamCallOf } from "../server/context.ts";
import { fromWithProgress, toName } from "./messages.ts";

type Streams = "exportBulkGrantAudit" | "exportFailedBulkGrantRows" | "watchBulkGrant";

export const bulkGrantStreams = (
  deps: Deps,
): Pick<ServiceImpl<typeof BulkGrantService>, Streams> => ({
  async *exportFailedBulkGrantRows(request) {
    const bulkGrant = await readBulkGrant(deps, toName(request));
    const rows = failedRows(deps, bulkGrant);
    for await (const text of writeSheet(rows, bulkGrant)) {
      yield { csvChunk: Buffer.from(text) };
    }
  },

  async *exportBulkGrantAudit(request) {
    const bulkGrant = await readBulkGrant(deps, toName(request));
    for await (const text of writeAudit(deps, bulkGrant)) yield { csvChunk: Buffer.from(text) };
  },

  async *watchBulkGrant(request, context) {
    const events = deps.bulkGrantStreams.watch(toName(request), streamCallOf(context));
    for await (const event of events) yield fromEvent(event);
  },
});

const causes = {
  FINAL: Cause.FINAL,
  TIME_LIMIT: Cause.TIME_LIMIT,
  DRAINING: Cause.DRAINING,
} as const;

function fromEvent(
  event: BulkGrantEvent | StreamEnd,
): MessageInitShape<typeof WatchBulkGrantResponseSchema> {
  if (!("end" in event)) return { content: { case: "update", value: fromWithProgress(event) } };
  const cause = causes[event.end];
  const reopenDelay = "reopenDelayMs" in event ? durationFromMs(event.reopenDelayMs) : undefined;
  return { content: { case: "end", value: { cause, ...(reopenDelay && { reopenDelay }) } } };
}
