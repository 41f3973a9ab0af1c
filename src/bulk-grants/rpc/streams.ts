/** The handlers of the BulkGrantService that answer with a stream. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type BulkGrantService,
  WatchBulkGrantResponse_End_Cause as Cause,
  type WatchBulkGrantResponseSchema,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { streamCallOf } from "../../platform/edge/context.ts";
import type { StreamEnd } from "../../platform/ports/streams.ts";
import type { BulkGrantEvent } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { writeAudit } from "../use-cases/audit.ts";
import { readBulkGrant } from "../use-cases/bulk-grant-record.ts";
import { failedRows } from "../use-cases/queries.ts";
import { writeSheet } from "../use-cases/write-sheet.ts";
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
    for await (const event of events) yield await fromEvent(deps, event);
  },
});

const causes = {
  FINAL: Cause.FINAL,
  TIME_LIMIT: Cause.TIME_LIMIT,
  DRAINING: Cause.DRAINING,
} as const;

async function fromEvent(
  deps: Deps,
  event: BulkGrantEvent | StreamEnd,
): Promise<MessageInitShape<typeof WatchBulkGrantResponseSchema>> {
  if (!("end" in event)) {
    return { content: { case: "update", value: await fromWithProgress(deps, event) } };
  }
  const cause = causes[event.end];
  const reopenDelay = "reopenDelayMs" in event ? durationFromMs(event.reopenDelayMs) : undefined;
  return { content: { case: "end", value: { cause, reopenDelay } } };
}
