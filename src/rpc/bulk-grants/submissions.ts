/** The handlers of the BulkGrantService that take the rows of a sheet. */
import type { ServiceImpl } from "@connectrpc/connect";
import { checkRows } from "../../app/bulk-grants/check-rows.ts";
import { readSheet } from "../../app/bulk-grants/read-sheet.ts";
import { reverseBulkGrant } from "../../app/bulk-grants/reverse.ts";
import { type ReadRows, submitBulkGrant } from "../../app/bulk-grants/submit.ts";
import { validateSheet } from "../../app/bulk-grants/validate-only.ts";
import type { Deps } from "../../app/ports/deps.ts";
import type {
  BulkGrantService,
  ValidateBulkGrantRequest,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { callerOf } from "../server/context.ts";
import { toOptionalInstant } from "../server/scalars.ts";
import { fromBulkGrant, fromCheck, toName } from "./messages.ts";
import { readUpload, toRawRow } from "./uploads.ts";

type Submissions = "uploadBulkGrant" | "validateBulkGrant" | "reverseBulkGrant";

/** The handlers. An upload ends with DEADLINE when no message arrives within `uploadIdleMs`. */
export function bulkGrantSubmissions(
  deps: Deps,
  uploadIdleMs: number,
): Pick<ServiceImpl<typeof BulkGrantService>, Submissions> {
  return {
    async uploadBulkGrant(requests, context) {
      const { header, rows } = await readUpload(requests, context.signal, uploadIdleMs);
      const executeTime = toOptionalInstant(header.executeTime, "header.execute_time");
      const submission = {
        ...toName(header),
        executeTime,
        submitter: callerOf(context),
        replacesRevision: header.replacesRevision || undefined,
      };
      if (header.validateOnly) {
        return { check: fromCheck(await validateSheet(deps, submission, rows)) };
      }
      return toResponse(await submitBulkGrant(deps, submission, rows));
    },

    validateBulkGrant: async (request) => ({
      check: fromCheck(await validateSheet(deps, toName(request), toRows(request))),
    }),

    async reverseBulkGrant(request, context) {
      const submission = {
        ...toName(request),
        executeTime: toOptionalInstant(request.executeTime, "execute_time"),
        submitter: callerOf(context),
        replacesRevision: request.replacesRevision || undefined,
        reverses: request.reversedBulkGrantId,
      };
      return toResponse(await reverseBulkGrant(deps, submission));
    },
  };
}

/** The rows of a request. The schema requires content, so an absent sheet does not occur. */
const toRows =
  ({ content }: ValidateBulkGrantRequest): ReadRows =>
  (context) =>
    content.case === "rows"
      ? checkRows(eachOf(content.value.rows.map(toRawRow)), context)
      : readSheet(eachOf(content.value ? [content.value] : []), context);

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items;
}

const toResponse = ({ bulkGrant, replayed }: Awaited<ReturnType<typeof submitBulkGrant>>) => ({
  bulkGrant: fromBulkGrant(bulkGrant),
  replayed,
});
