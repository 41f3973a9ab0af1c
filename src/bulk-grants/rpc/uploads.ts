/** Reads the messages of an upload as they arrive: the header, CSV or rows, and the end. */

import type {
  NewRow as NewRowMessage,
  UploadBulkGrantRequest,
  UploadBulkGrantRequest_Header,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { withIdleLimit } from "../../platform/edge/idle-limit.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { NewRow, SheetContent } from "../use-cases/read-rows.ts";

type Contents = AsyncGenerator<UploadBulkGrantRequest["content"], void>;

/**
 * The contents of an upload up to the end, which has to come: HTTP/2 clients such as Node's close
 * their side of a stream before they reset it, so a cancelled call looks complete for a moment.
 * Messages are read as fast as they are consumed, and never held as a whole. Reading throws
 * INVALID_REQUEST when the end is missing or not last, DEADLINE when no message is complete within
 * `idleMs`, and the reason of `signal`.
 */
export async function* contentsOf(
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
export async function readHeader(contents: Contents): Promise<UploadBulkGrantRequest_Header> {
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
export async function readContent(contents: Contents): Promise<SheetContent> {
  const { value: first } = await contents.next();
  async function* all(): Contents {
    if (first) yield first;
    yield* contents;
  }
  return first?.case === "rows" ? { rows: rowsOf(all()) } : { csv: chunksOf(all()) };
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
export const toNewRow = ({ points, ...row }: NewRowMessage): NewRow => ({
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
