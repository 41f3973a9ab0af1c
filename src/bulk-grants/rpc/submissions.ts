/** The handlers of the BulkGrantService that take the rows of a sheet, and uploads as streams. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type {
  BulkGrantService,
  CheckSheetRequest,
  NewRow as NewRowMessage,
  RequestGrantRequest,
  RequestRevokeRequest,
  SubmitBulkGrantRequest,
  UploadBulkGrantRequest,
  UploadBulkGrantRequest_Header,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import type { EventName } from "../../gen/meguri/points/v1/ledger_entry_pb.ts";
import { auditOf, callerOf } from "../../platform/edge/context.ts";
import { withIdleLimit } from "../../platform/edge/idle-limit.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { toNfc, toOptionalInstant, toOptionalMonth } from "../../platform/messages/scalars.ts";
import { maxTitleBytes, readDisplayText } from "../../platform/words/display-text.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { toEventName } from "../../points/rpc/ledger-entries.ts";
import type { Deps } from "../ports/deps.ts";
import type { SheetEncoding } from "../rules/sheet-reading.ts";
import { checkSheet } from "../use-cases/check-sheet.ts";
import type { NewRow, SheetContent } from "../use-cases/read-rows.ts";
import type { ReadingOptions } from "../use-cases/read-sheet.ts";
import { requestGrant, requestRevoke } from "../use-cases/request.ts";
import { reverseBulkGrant } from "../use-cases/reverse.ts";
import { type Submitted, submitBulkGrant } from "../use-cases/submit.ts";
import { fromBulkGrant, fromCheck, fromReading, styleOf, toName } from "./messages.ts";

type Submissions =
  | "uploadBulkGrant"
  | "submitBulkGrant"
  | "requestGrant"
  | "requestRevoke"
  | "checkSheet"
  | "reverseBulkGrant";

/** The handlers. An upload ends when nothing arrives within `idleMs`. */
export function bulkGrantSubmissions(
  deps: Deps,
  idleMs: number,
): Pick<ServiceImpl<typeof BulkGrantService>, Submissions> {
  return {
    async uploadBulkGrant(requests, context) {
      const contents = contentsOf(requests, context.signal, idleMs);
      const header = await readHeader(contents);
      const submission = toSubmission(header, context, "header.");
      const content = await readContent(contents, callerOf(context).service);
      if (header.validateOnly) return { check: await check(deps, submission, content) };
      return toResponse(deps, await submitBulkGrant(deps, submission, content));
    },

    async submitBulkGrant(request, context) {
      const submission = toSubmission(request, context);
      const content = toContent(request, context);
      return toResponse(deps, await submitBulkGrant(deps, submission, content));
    },

    async requestGrant(request, context) {
      const requested = {
        ...toRequest(request, context),
        points: Number(request.points),
        expireMonth: toOptionalMonth(request.expireMonth),
      };
      return toResponse(deps, await requestGrant(deps, requested));
    },

    async requestRevoke(request, context) {
      // The schema requires the event, so an absent one does not occur.
      const grant = toEventName(request.grantEvent as EventName);
      return toResponse(deps, await requestRevoke(deps, { ...toRequest(request, context), grant }));
    },

    checkSheet: async (request, context) => ({
      check: await check(deps, toChecked(request), toContent(request, context)),
    }),

    async reverseBulkGrant(request, context) {
      const reversedBulkGrantId = toNfc(request.reversedBulkGrantId, "reversed_bulk_grant_id");
      const { reason } = request;
      const submission = { ...toSubmission(request, context), reversedBulkGrantId, reason };
      return toResponse(deps, await reverseBulkGrant(deps, submission));
    },
  };
}

/** The fields of requests that say how a sheet is read. */
type SheetOptions = Pick<CheckSheetRequest, "encoding" | "skipZero">;

/** The fields of requests to submit, besides the rows. Those of a sheet are not in a reversal. */
interface Submission extends Partial<SheetOptions> {
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
  ...toName(request, prefix),
  ...toOptions(request),
  executeTime: toOptionalInstant(request.executeTime, `${prefix}execute_time`),
  submitter: callerOf(context),
  audit: auditOf(context),
  replacedRevision: request.replacedRevision || undefined,
  title: readDisplayText(request.title, maxTitleBytes, `${prefix}title`),
  cause: request.cause,
  expireMonth: toOptionalMonth(request.expireMonth ?? ""),
});

const toRequest = (
  request: RequestGrantRequest | RequestRevokeRequest,
  context: HandlerContext,
) => ({
  ...toName(request),
  userId: request.userId,
  reason: request.reason,
  cause: request.cause,
  submitter: callerOf(context),
  audit: auditOf(context),
});

const toChecked = (request: CheckSheetRequest) => ({
  ...toName(request),
  ...toOptions(request),
  expireMonth: toOptionalMonth(request.expireMonth),
});

/** How the sheet of a request is read. The schema has checked the name of the encoding. */
const toOptions = ({ encoding, skipZero }: Partial<SheetOptions>): ReadingOptions => ({
  encoding: encoding && encoding !== "auto" ? (encoding as SheetEncoding) : undefined,
  skipZero,
});

async function check(
  deps: Deps,
  checked: Parameters<typeof checkSheet>[1],
  content: SheetContent,
): Promise<ReturnType<typeof fromCheck>> {
  const found = await checkSheet(deps, checked, content);
  return fromCheck(found, await styleOf(deps, checked.programId));
}

/** The content of a request. The schema requires it, so an absent sheet does not occur. */
const toContent = (
  { content }: CheckSheetRequest | SubmitBulkGrantRequest,
  context: HandlerContext,
): SheetContent =>
  content.case === "rows"
    ? { rows: eachOf(content.value.rows.map(toNewRow)) }
    : { csv: eachOf(content.value ? [content.value] : []), sender: callerOf(context).service };

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items;
}

const toResponse = async (deps: Deps, { bulkGrant, revision, replayed, reading }: Submitted) => ({
  bulkGrant: await fromBulkGrant(deps, bulkGrant),
  revision,
  replayed,
  reading: reading && fromReading(reading, await styleOf(deps, bulkGrant.programId)),
});

type Contents = AsyncGenerator<UploadBulkGrantRequest["content"], void>;

/**
 * The contents of an upload up to the end, which has to come: HTTP/2 clients such as Node's close
 * their side of a stream before they reset it, so a cancelled call looks complete for a moment.
 * Messages are read as fast as they are consumed, and never held as a whole. Reading throws
 * INVALID_REQUEST when the end is missing or not last, DEADLINE when no message is complete within
 * `idleMs`, and the reason of `signal`.
 */
async function* contentsOf(
  requests: AsyncIterable<UploadBulkGrantRequest>,
  signal: AbortSignal,
  idleMs: number,
): Contents {
  let isComplete = false;
  for await (const { content } of withIdleLimit(requests, signal, idleMs, () => tooSlow(idleMs))) {
    if (isComplete) throw invalid("content", "nothing follows the end");
    if (content.case === "end") isComplete = true;
    else yield content;
  }
  if (!isComplete) throw invalid("end", "is required in the last message");
}

/** Reads the header, which is the first message. Refusal: INVALID_REQUEST. */
async function readHeader(contents: Contents): Promise<UploadBulkGrantRequest_Header> {
  const { value: first } = await contents.next();
  if (first?.case === "header") return first.value;
  await contents.return();
  throw invalid("header", "is required in the first message");
}

/**
 * Reads the message after the header, which says what the content is, and returns the content, to
 * be read once. Nothing at all is an empty sheet. Reading throws INVALID_REQUEST for CSV mixed with
 * rows, and what reading `contents` throws.
 */
async function readContent(contents: Contents, sender: string): Promise<SheetContent> {
  const { value: first } = await contents.next();
  async function* all(): Contents {
    if (first) yield first;
    yield* contents;
  }
  return first?.case === "rows" ? { rows: rowsOf(all()) } : { csv: chunksOf(all()), sender };
}

async function* chunksOf(contents: Contents): AsyncGenerator<Uint8Array, void> {
  for await (const content of contents) {
    if (content.case !== "csvChunk") throw misplaced(content, "csv_chunk");
    yield content.value;
  }
}

async function* rowsOf(contents: Contents): AsyncGenerator<NewRow, void> {
  for await (const content of contents) {
    if (content.case !== "rows") throw misplaced(content, "rows");
    for (const row of content.value.rows) yield toNewRow(row);
  }
}

/** A row of a message. Points beyond 2^53 lose digits, but not that they are too many. */
const toNewRow = ({ points, ...row }: NewRowMessage): NewRow => ({
  userId: row.userId,
  points: Number(points),
  reason: row.reason,
  expireMonth: row.expireMonth,
});

const misplaced = ({ case: name }: UploadBulkGrantRequest["content"], expected: string) =>
  name === "header"
    ? invalid("header", "is only in the first message")
    : invalid("content", `all messages after the header have ${expected}, like the first of them`);

const tooSlow = (idleMs: number) =>
  new DomainError("DEADLINE", `a slow upload: no message within ${idleMs} ms; nothing is stored`);
