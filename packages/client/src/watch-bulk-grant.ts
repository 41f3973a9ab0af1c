/** Follows a bulk grant to its end, over as many streams as that takes. */
import { equals } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import {
  type BulkGrantService,
  WatchBulkGrantResponse_End_Cause as Cause,
  type WatchBulkGrantResponse_Update,
  WatchBulkGrantResponse_UpdateSchema,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { reopen, type StreamEvent, type WatchOptions } from "./reopen.ts";

/** The bulk grant that is followed. */
export interface BulkGrantWatch {
  /** Empty or absent means `default`. */
  readonly programId?: string;
  readonly bulkGrantId: string;
}

/** Yields each update that differs from the last one, until nothing more is done. */
export function watchBulkGrant(
  bulkGrants: Client<typeof BulkGrantService>,
  watch: BulkGrantWatch,
  options: WatchOptions,
): AsyncGenerator<WatchBulkGrantResponse_Update, void> {
  let last: WatchBulkGrantResponse_Update | undefined;

  async function* open(
    signal: AbortSignal,
  ): AsyncGenerator<StreamEvent<WatchBulkGrantResponse_Update>> {
    for await (const { content } of bulkGrants.watchBulkGrant(watch, { signal })) {
      if (content.case === "update") {
        const update = content.value;
        const isKnown = last && equals(WatchBulkGrantResponse_UpdateSchema, last, update);
        last = update;
        yield isKnown ? { isKnown } : { value: update };
      } else if (content.case === "end") {
        const { cause, reopenDelay } = content.value;
        const isLast = cause === Cause.FINAL;
        yield isLast ? { isLast } : { reopenMs: reopenDelay ? durationMs(reopenDelay) : 0 };
      }
    }
  }

  return reopen(options, open);
}
