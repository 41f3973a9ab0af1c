/** Follows a bulk grant to its end, over as many streams as that takes. */
import type { Client } from "@connectrpc/connect";
import {
  type BulkGrantService,
  WatchBulkGrantResponse_EndReason as EndReason,
  type WatchBulkGrantResponse_Update,
} from "../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";

export interface BulkGrantName {
  /** Empty means `default`. */
  readonly programId?: string;
  readonly bulkGrantId: string;
}

export interface WatchOptions {
  /** Ends the watch: the loop throws a ConnectError with the code Canceled. */
  readonly signal?: AbortSignal;
}

export async function* watchBulkGrant(
  bulkGrants: Client<typeof BulkGrantService>,
  name: BulkGrantName,
  { signal }: WatchOptions,
): AsyncGenerator<WatchBulkGrantResponse_Update, void> {
  for (;;) {
    for await (const { event } of bulkGrants.watchBulkGrant(name, signal ? { signal } : {})) {
      if (event.case === "update") yield event.value;
      if (event.case === "end" && event.value.reason === EndReason.FINAL) return;
    }
  }
}
