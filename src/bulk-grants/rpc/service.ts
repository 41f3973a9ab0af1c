/** The handlers of the BulkGrantService. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type BulkGrantService,
  ListBulkGrantActionsRequestSchema,
  ListBulkGrantRevisionsRequestSchema,
  ListBulkGrantRowsRequestSchema,
  ListBulkGrantsRequestSchema,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { toOptionalInstant } from "../../platform/messages/scalars.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import type { BulkGrant } from "../rules/bulk-grant.ts";
import { summaryText } from "../rules/summary-text.ts";
import {
  approveBulkGrant,
  type BulkGrantChange,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../use-cases/commands.ts";
import { listActions, listRevisions } from "../use-cases/history.ts";
import { getBulkGrant, listBulkGrants, listRows } from "../use-cases/queries.ts";
import { getSummary } from "../use-cases/summarize.ts";
import {
  fromAction,
  fromBulkGrant,
  fromRevision,
  fromRow,
  fromSummary,
  fromWithProgress,
  styleOf,
  toChange,
  toName,
  toRowState,
  toState,
} from "./messages.ts";
import { bulkGrantStreams } from "./streams.ts";
import { bulkGrantSubmissions } from "./submissions.ts";

/** The handlers of all methods. An upload ends when nothing arrives within `uploadIdleMs`. */
export function bulkGrantService(
  deps: Deps,
  uploadIdleMs: number,
): ServiceImpl<typeof BulkGrantService> {
  type Change = (deps: Deps, change: BulkGrantChange) => Promise<BulkGrant>;
  const handler =
    (change: Change) =>
    async (request: Parameters<typeof toChange>[0], context: HandlerContext) => ({
      bulkGrant: await fromBulkGrant(deps, await change(deps, toChange(request, context))),
    });
  return {
    ...bulkGrantSubmissions(deps, uploadIdleMs),
    ...bulkGrantStreams(deps),

    getBulkGrant: async (request) =>
      fromWithProgress(deps, await getBulkGrant(deps, toName(request))),

    async getBulkGrantSummary(request) {
      const name = toName(request);
      const read = await getSummary(deps, name, request.revision);
      const style = await styleOf(deps, name.programId);
      return { summary: fromSummary(read, style), ...summaryText(read, style) };
    },

    async listBulkGrants(request) {
      const { page, next } = requestedPage(ListBulkGrantsRequestSchema, request);
      const filter = {
        programId: toProgramId(request.programId),
        state: toState(request.state),
        start: toOptionalInstant(request.createTimeFrom, "create_time_from"),
        end: toOptionalInstant(request.createTimeBefore, "create_time_before"),
      };
      const found = await listBulkGrants(deps, filter, page);
      const bulkGrants = await Promise.all(found.items.map((item) => fromBulkGrant(deps, item)));
      return { bulkGrants, nextPageToken: next(found) };
    },

    async listBulkGrantRows(request) {
      const { page, next } = requestedPage(ListBulkGrantRowsRequestSchema, request);
      const filter = {
        revision: request.revision || undefined,
        state: toRowState(request.state),
      };
      const found = await listRows(deps, toName(request), filter, page);
      return { rows: found.items.map(fromRow), nextPageToken: next(found) };
    },

    async listBulkGrantActions(request) {
      const { page, next } = requestedPage(ListBulkGrantActionsRequestSchema, request);
      const found = await listActions(deps, toName(request), page);
      return { actions: found.items.map(fromAction), nextPageToken: next(found) };
    },

    async listBulkGrantRevisions(request) {
      const { page, next } = requestedPage(ListBulkGrantRevisionsRequestSchema, request);
      const found = await listRevisions(deps, toName(request), page);
      return { revisions: found.items.map(fromRevision), nextPageToken: next(found) };
    },

    async approveBulkGrant(request, context) {
      const change = { ...toChange(request, context), digest: request.digest };
      return { bulkGrant: await fromBulkGrant(deps, await approveBulkGrant(deps, change)) };
    },

    async rejectBulkGrant(request, context) {
      const change = { ...toChange(request, context), digest: request.digest || undefined };
      return { bulkGrant: await fromBulkGrant(deps, await rejectBulkGrant(deps, change)) };
    },

    cancelBulkGrant: handler(cancelBulkGrant),
    pauseBulkGrant: handler(pauseBulkGrant),
    resumeBulkGrant: handler(resumeBulkGrant),
    retryBulkGrant: handler(retryBulkGrant),
  };
}
