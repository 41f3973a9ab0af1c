/** The handlers of the BulkGrantService that take the rows of a sheet. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Logger } from "pino";
import type {
  BulkGrantService,
  CheckSheetRequest,
  SubmitBulkGrantRequest,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { callerOf } from "../../platform/edge/context.ts";
import { toOptionalInstant, toOptionalMonth } from "../../platform/messages/scalars.ts";
import { maxTitleBytes, readDisplayText } from "../../platform/words/display-text.ts";
import type { Deps } from "../ports/deps.ts";
import { checkSheet } from "../use-cases/check-sheet.ts";
import type { SheetContent } from "../use-cases/read-rows.ts";
import { reverseBulkGrant } from "../use-cases/reverse.ts";
import { type Submitted, submitBulkGrant } from "../use-cases/submit.ts";
import { fromBulkGrant, fromCheck, toName } from "./messages.ts";
import { createSourceReads } from "./source-reads.ts";
import { contentsOf, readContent, readHeader, toNewRow } from "./uploads.ts";

type Submissions =
  | "uploadBulkGrant"
  | "submitBulkGrant"
  | "submitBulkGrantFromSource"
  | "checkSheet"
  | "reverseBulkGrant";

/** The handlers. An upload, or the read of a source, ends when nothing arrives within `idleMs`. */
export function bulkGrantSubmissions(
  deps: Deps,
  log: Logger,
  idleMs: number,
): Pick<ServiceImpl<typeof BulkGrantService>, Submissions> {
  const useSource = createSourceReads(deps, log, idleMs);
  return {
    async uploadBulkGrant(requests, context) {
      const contents = contentsOf(requests, context.signal, idleMs);
      const header = await readHeader(contents);
      const submission = toSubmission(header, context, "header.");
      const content = await readContent(contents);
      if (header.validateOnly) {
        return { check: fromCheck(await checkSheet(deps, submission, content)) };
      }
      return toResponse(await submitBulkGrant(deps, submission, content));
    },

    async submitBulkGrant(request, context) {
      const submission = toSubmission(request, context);
      return toResponse(await submitBulkGrant(deps, submission, toContent(request)));
    },

    async submitBulkGrantFromSource(request, context) {
      const submission = toSubmission(request, context);
      const source = `${request.source}/${request.path}`;
      const file = { name: request.source, source, programId: submission.programId };
      const submitted = await useSource(file, context.signal, ({ csv, url: sourceUrl }) =>
        submitBulkGrant(deps, { ...submission, source, sourceUrl }, { csv }),
      );
      return toResponse(submitted);
    },

    checkSheet: async (request) => ({
      check: fromCheck(await checkSheet(deps, toChecked(request), toContent(request))),
    }),

    async reverseBulkGrant(request, context) {
      const { reversedBulkGrantId } = request;
      const submission = { ...toSubmission(request, context), reversedBulkGrantId };
      return toResponse(await reverseBulkGrant(deps, submission));
    },
  };
}

/** What requests to submit say, besides the rows. */
interface Submission {
  readonly programId: string;
  readonly bulkGrantId: string;
  readonly executeTime?: Timestamp | undefined;
  readonly replacedRevision: number;
  readonly title: string;
  readonly cause: string;
  /** Only of requests that grant. */
  readonly expireMonth?: string;
}

/** `prefix` precedes the names of fields in a refusal. */
const toSubmission = (request: Submission, context: HandlerContext, prefix = "") => ({
  ...toName(request),
  executeTime: toOptionalInstant(request.executeTime, `${prefix}execute_time`),
  submitter: callerOf(context),
  replacedRevision: request.replacedRevision || undefined,
  title: readDisplayText(request.title, maxTitleBytes, `${prefix}title`),
  cause: request.cause,
  expireMonth: toOptionalMonth(request.expireMonth ?? ""),
});

const toChecked = (request: CheckSheetRequest) => ({
  ...toName(request),
  expireMonth: toOptionalMonth(request.expireMonth),
});

/** The content of a request. The schema requires it, so an absent sheet does not occur. */
const toContent = ({ content }: CheckSheetRequest | SubmitBulkGrantRequest): SheetContent =>
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
