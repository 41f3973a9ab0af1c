/** Uploads the sheet of a bulk grant in messages of the right size. */
import { type Client, createContextValues } from "@connectrpc/connect";
import type {
  BulkGrantService,
  NewRowSchema,
  UploadBulkGrantRequest_HeaderSchema,
  UploadBulkGrantRequestSchema,
  UploadBulkGrantResponse,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import type { RequestOf } from "./requests.ts";
import { freshInputKey } from "./streams.ts";

/** The rows of a bulk grant: as a file of CSV, or as messages. */
export type BulkGrantSheet =
  | { readonly csv: Uint8Array }
  | { readonly rows: readonly RequestOf<typeof NewRowSchema>[] };

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** The deadline of the upload in ms; none by default. */
  readonly timeoutMs?: number;
  /** Called before each message with the bytes or rows sent so far; begins at 0 in each try. */
  readonly onProgress?: (sent: number) => void;
}

/** The limits of one message. */
const chunkBytes = 60_000;
const rowsPerMessage = 500;

type Upload = RequestOf<typeof UploadBulkGrantRequestSchema>;

/** Sends the header, the sheet and the end; after a failure that may pass, all of it again. */
export async function uploadBulkGrant(
  bulkGrants: Client<typeof BulkGrantService>,
  header: RequestOf<typeof UploadBulkGrantRequest_HeaderSchema>,
  sheet: BulkGrantSheet,
  { onProgress, ...options }: UploadOptions,
): Promise<UploadBulkGrantResponse> {
  const messages = () => messagesOf(header, sheet, onProgress);
  const contextValues = createContextValues().set(freshInputKey, messages);
  return await bulkGrants.uploadBulkGrant(messages(), { ...options, contextValues });
}

async function* messagesOf(
  header: RequestOf<typeof UploadBulkGrantRequest_HeaderSchema>,
  sheet: BulkGrantSheet,
  onProgress: (sent: number) => void = () => {},
): AsyncGenerator<Upload> {
  yield { content: { case: "header", value: header } };
  if ("csv" in sheet) {
    for (let at = 0; at < sheet.csv.length; at += chunkBytes) {
      onProgress(at);
      yield { content: { case: "csvChunk", value: sheet.csv.subarray(at, at + chunkBytes) } };
    }
  } else {
    for (let at = 0; at < sheet.rows.length; at += rowsPerMessage) {
      onProgress(at);
      const rows = sheet.rows.slice(at, at + rowsPerMessage);
      yield { content: { case: "rows", value: { rows } } };
    }
  }
  yield { content: { case: "end", value: {} } };
}
