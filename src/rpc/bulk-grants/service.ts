/** The handlers of the BulkGrantService. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  approveBulkGrant,
  type BulkGrantChange,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../app/bulk-grants/commands.ts";
import { getBulkGrant, listBulkGrants, listRows } from "../../app/bulk-grants/queries.ts";
import type { Deps } from "../../app/ports/deps.ts";
import type { BulkGrant } from "../../domain/bulk-grant.ts";
import {
  type BulkGrantService,
  ListBulkGrantRowsRequestSchema,
  ListBulkGrantsRequestSchema,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { requestedPage } from "../shared/page-tokens.ts";
import { toOptionalInstant, toProgramId } from "../shared/scalars.ts";
import {
  fromBulkGrant,
  fromRow,
  fromWithProgress,
  toChange,
  toName,
  toRowState,
  toState,
} from "./messages.ts";
import { bulkGrantStreams } from "./streams.ts";
import { bulkGrantSubmissions } from "./submissions.ts";

/** The handlers of all methods. An upload ends when no message arrives within `uploadIdleMs`. */
export function bulkGrantService(
  deps: Deps,
  uploadIdleMs: number,
): ServiceImpl<typeof BulkGrantService> {
  type Change = (deps: Deps, change: BulkGrantChange) => Promise<BulkGrant>;
  const handler =
    (change: Change) =>
    async (request: Parameters<typeof toChange>[0], context: HandlerContext) => ({
      bulkGrant: fromBulkGrant(await change(deps, toChange(request, context))),
    });
  return {
    ...bulkGrantSubmissions(deps, uploadIdleMs),
    ...bulkGrantStreams(deps),

    getBulkGrant: async (request) => fromWithProgress(await getBulkGrant(deps, toName(request))),

    async listBulkGrants(request) {
      const { page, next } = requestedPage(ListBulkGrantsRequestSchema, request);
      const filter = {
        programId: toProgramId(request.programId),
        state: toState(request.state),
        start: toOptionalInstant(request.createTimeFrom, "create_time_from"),
        end: toOptionalInstant(request.createTimeBefore, "create_time_before"),
      };
      const found = await listBulkGrants(deps, filter, page);
      return { bulkGrants: found.items.map(fromBulkGrant), nextPageToken: next(found) };
    },

    async listBulkGrantRows(request) {
      const { page, next } = requestedPage(ListBulkGrantRowsRequestSchema, request);
      const found = await listRows(deps, toName(request), toRowState(request.state), page);
      return { rows: found.items.map(fromRow), nextPageToken: next(found) };
    },

    async approveBulkGrant(request, context) {
      const change = { ...toChange(request, context), digest: request.digest };
      return { bulkGrant: fromBulkGrant(await approveBulkGrant(deps, change)) };
    },

    rejectBulkGrant: handler(rejectBulkGrant),
    cancelBulkGrant: handler(cancelBulkGrant),
    pauseBulkGrant: handler(pauseBulkGrant),
    resumeBulkGrant: handler(resumeBulkGrant),
    retryBulkGrant: handler(retryBulkGrant),
  };
}
