/**
 * Uploads a sheet as a bulk grant and waits for its end; docs/call/batch-jobs.md has more:
 * `node examples/upload-sheet.ts ADDRESS CALLER PROGRAM_ID BULK_GRANT_ID FILE [ENCODING]`.
 */
import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.ts";
import {
  type BulkGrant,
  BulkGrantSchema,
  BulkGrant_State as BulkGrantState,
} from "../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  BulkGrantService,
  WatchBulkGrantResponse_End_Cause as Cause,
  type UploadBulkGrantRequestSchema,
} from "../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";

/** What is submitted, and by which caller. */
interface SheetUpload {
  readonly programId: string;
  readonly bulkGrantId: string;
  readonly file: string;
  readonly caller: string;
  /** Such as windows-1252; for UTF-8, a workbook and Japanese in Shift_JIS there is none. */
  readonly encoding?: string;
}

/** A message of an upload may have at most this many bytes of CSV. */
const maxChunkBytes = 60_000;

/** The connection broke, or the time was up. The calls are idempotent, so they are repeated. */
const unknownOutcome: readonly Code[] = [
  Code.DeadlineExceeded,
  Code.Unavailable,
  Code.Aborted,
  Code.Canceled,
  Code.Internal,
];

/** Uploads a sheet, and returns the bulk grant when it has ended. Throws refusals. */
export async function grantSheet(
  bulkGrants: Client<typeof BulkGrantService>,
  { programId, bulkGrantId, file, caller, encoding = "" }: SheetUpload,
): Promise<BulkGrant> {
  const headers = { "meguri-caller": caller };
  const name = { programId, bulkGrantId };
  const header = { ...name, encoding };
  await untilAnswered(() => bulkGrants.uploadBulkGrant(messagesOf(header, file), { headers }));
  let last: BulkGrant | undefined;
  let isFinal = false;
  while (!isFinal) {
    await untilAnswered(async () => {
      for await (const { content } of bulkGrants.watchBulkGrant(name, { headers })) {
        if (content.case === "update") last = content.value.bulkGrant;
        else if (content.case === "end") isFinal = content.value.cause === Cause.FINAL;
      }
    });
  }
  if (!last) throw new Error("the stream ended without the bulk grant");
  return last;
}

/** The header, the sheet in chunks, and the end, without which the server stores nothing. */
async function* messagesOf(
  header: Pick<SheetUpload, "programId" | "bulkGrantId" | "encoding">,
  file: string,
): AsyncGenerator<MessageInitShape<typeof UploadBulkGrantRequestSchema>, void> {
  yield { content: { case: "header", value: header } };
  for await (const value of createReadStream(file, { highWaterMark: maxChunkBytes })) {
    yield { content: { case: "csvChunk", value } };
  }
  yield { content: { case: "end", value: {} } };
}

/** Repeats a call until it is answered or refused. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (reason) {
      const error = ConnectError.from(reason);
      const [retry] = error.findDetails(RetryInfoSchema);
      if (!retry && !unknownOutcome.includes(error.code)) throw error;
      const leastMs = retry?.retryDelay ? durationMs(retry.retryDelay) : 1_000;
      await sleep(leastMs * (1 + Math.random()));
    }
  }
}

if (import.meta.main) {
  const [baseUrl = "", caller = "", programId = "", bulkGrantId = "", file = "", encoding = ""] =
    process.argv.slice(2);
  const client = createClient(BulkGrantService, createGrpcTransport({ baseUrl }));
  const bulkGrant = await grantSheet(client, { programId, bulkGrantId, file, caller, encoding });
  console.log(toJsonString(BulkGrantSchema, bulkGrant));
  process.exitCode = bulkGrant.state === BulkGrantState.DONE ? 0 : 1;
}
