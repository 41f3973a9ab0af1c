/** Reads the messages of an upload as they arrive: the header, CSV or rows, and the end. */
import { checkRows, type RawRow } from "../../app/bulk-grants/check-rows.ts";
import { readSheet } from "../../app/bulk-grants/read-sheet.ts";
import type { ReadRows } from "../../app/bulk-grants/submit.ts";
import { DomainError } from "../../domain/errors.ts";
import type {
  NewRow,
  UploadBulkGrantRequest,
  UploadBulkGrantRequest_Header,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { invalid } from "../server/errors.ts";
import { withIdleLimit } from "../server/idle-limit.ts";

/** An upload whose header has arrived. */
interface Upload {
  readonly header: UploadBulkGrantRequest_Header;
  /** Reads the rest, once. */
  readonly rows: ReadRows;
}

/**
 * Reads the header of an upload. The rows are read as fast as they are consumed, and never held as
 * a whole. Reading throws INVALID_REQUEST for messages in a wrong order, DEADLINE when no message
 * is complete within `idleMs`, and the reason of `signal`.
 */
export async function readUpload(
  requests: AsyncIterable<UploadBulkGrantRequest>,
  signal: AbortSignal,
  idleMs: number,
): Promise<Upload> {
  const contents = contentsOf(withIdleLimit(requests, signal, idleMs, () => tooSlow(idleMs)));
  const { value: first } = await contents.next();
  if (first?.case !== "header") {
    await contents.return();
    throw invalid("header", "is required in the first message");
  }
  return { header: first.value, rows: (context) => readRows(contents, context) };
}

type Contents = AsyncGenerator<UploadBulkGrantRequest["content"], void>;

/**
 * The contents up to the end, which has to come: HTTP/2 clients such as Node's close their side of
 * a stream before they reset it, so a cancelled call looks complete for a moment.
 */
async function* contentsOf(requests: AsyncIterable<UploadBulkGrantRequest>): Contents {
  let isComplete = false;
  for await (const { content } of requests) {
    if (isComplete) throw invalid("content", "nothing follows the end");
    if (content.case === "end") isComplete = true;
    else yield content;
  }
  if (!isComplete) throw invalid("end", "is required in the last message");
}

/** Reads CSV or rows, as the next message has it. Nothing at all is an empty sheet. */
async function* readRows(contents: Contents, context: Parameters<ReadRows>[0]) {
  const { value: first } = await contents.next();
  async function* all(): Contents {
    if (first) yield first;
    yield* contents;
  }
  if (first?.case === "rows") yield* checkRows(rowsOf(all()), context);
  else yield* readSheet(chunksOf(all()), context);
}

async function* chunksOf(contents: Contents): AsyncGenerator<Uint8Array, void> {
  for await (const content of contents) {
    if (content.case !== "csvChunk") throw misplaced(content, "csv_chunk");
    yield content.value;
  }
}

async function* rowsOf(contents: Contents): AsyncGenerator<RawRow, void> {
  for await (const content of contents) {
    if (content.case !== "rows") throw misplaced(content, "rows");
    for (const row of content.value.rows) yield toRawRow(row);
  }
}

/** A row of a message. Points beyond 2^53 lose digits, but not that they are too many. */
export const toRawRow = ({ userId, points, reason }: NewRow): RawRow => ({
  userId,
  points: Number(points),
  reason,
});

const misplaced = ({ case: name }: UploadBulkGrantRequest["content"], expected: string) =>
  name === "header"
    ? invalid("header", "is only in the first message")
    : invalid("content", `all messages after the header have ${expected}, like the first of them`);

const tooSlow = (idleMs: number) =>
  new DomainError("DEADLINE", `a slow upload: no message within ${idleMs} ms; nothing is stored`);
