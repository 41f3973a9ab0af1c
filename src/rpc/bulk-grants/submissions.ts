/** The handlers of the BulkGrantService that take the rows of a sheet. */
import type { ServiceImpl } from "@connectrpc/connect";
import { checkSheet } from "../../app/bulk-grants/check-sheet.ts";
import type { SheetContent } from "../../app/bulk-grants/read-rows.ts";
import { reverseBulkGrant } from "../../app/bulk-grants/reverse.ts";
import { type Submitted, submitBulkGrant } from "../../app/bulk-grants/submit.ts";
import type { Deps } from "../../app/ports/deps.ts";
import type {
  BulkGrantService,
  CheckSheetRequest,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { callerOf } from "../server/context.ts";
import { toOptionalInstant } from "../shared/scalars.ts";
import { fromBulkGrant, fromCheck, toName } from "./messages.ts";
import { contentsOf, readContent, readHeader, toNewRow } from "./uploads.ts";

type Submissions = "uploadBulkGrant" | "checkSheet" | "reverseBulkGrant";

/** The handlers. An upload ends with DEADLINE when no message arrives within `uploadIdleMs`. */
export function bulkGrantSubmissions(
  deps: Deps,
  uploadIdleMs: number,
): Pick<ServiceImpl<typeof BulkGrantService>, Submissions> {
  return {
    async uploadBulkGrant(requests, context) {
      const contents = contentsOf(requests, context.signal, uploadIdleMs);
      const header = await readHeader(contents);
      const executeTime = toOptionalInstant(header.executeTime, "header.execute_time");
      const submission = {
        ...toName(header),
        executeTime,
        submitter: callerOf(context),
        replacedRevision: header.replacedRevision || undefined,
      };
      const content = await readContent(contents);
      if (header.validateOnly) {
        return { check: fromCheck(await checkSheet(deps, submission, content)) };
      }
      return toResponse(await submitBulkGrant(deps, submission, content));
    },

    checkSheet: async (request) => ({
      check: fromCheck(await checkSheet(deps, toName(request), toContent(request))),
    }),

    async reverseBulkGrant(request, context) {
      const submission = {
        ...toName(request),
        executeTime: toOptionalInstant(request.executeTime, "execute_time"),
        submitter: callerOf(context),
        replacedRevision: request.replacedRevision || undefined,
        reversedBulkGrantId: request.reversedBulkGrantId,
      };
      return toResponse(await reverseBulkGrant(deps, submission));
    },
  };
}

/** The content of a request. The schema requires it, so an absent sheet does not occur. */
const toContent = ({ content }: CheckSheetRequest): SheetContent =>
  content.case === "rows"
    ? { rows: eachOf(content.value.rows.map(toNewRow)) }
    : { csv: eachOf(content.value ? [content.value] : []) };

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items;
}

const toResponse = ({ bulkGrant, revision, replayed }: Submitted) => ({
  bulkGrant: fromBulkGrant(bulkGrant),
  revision,
  replayed,
});
