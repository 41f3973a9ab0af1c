/** Uploads, approves and awaits bulk grants of generated rows. */
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { bulkGrantRef } from "../../src/bulk-grants/ports/records.ts";
import type { BulkGrant, BulkGrantState } from "../../src/bulk-grants/rules/bulk-grant.ts";
import {
  BulkGrantService,
  type UploadBulkGrantRequestSchema,
} from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { workbookOf } from "../../test/support/fixtures/workbooks.ts";
import { userName } from "./calls.ts";
import type { ServerProcess, Stack } from "./stack.ts";

/** A row rate that no worker reaches. */
export const unlimited = { MEGURI_BULK_ROWS_PER_SECOND: "1000000" };

/** The points and the reason of every generated row. */
export const bulkPoints = 5;
export const bulkReason = "bench";

/** The generated rows of a bulk grant: one for each of `count` users, from number `first` on. */
export interface BulkRows {
  readonly id: string;
  readonly first: number;
  readonly count: number;
}

/** Submits and approves bulk grants by RPC, and waits for them. */
export interface BulkCalls {
  /** Uploads the rows as a sheet in CSV. */
  upload(rows: BulkRows): Promise<void>;
  /** Uploads the rows as a workbook, as Excel writes it: with shared strings. */
  uploadWorkbook(rows: BulkRows): Promise<void>;
  /** Uploads the rows as a sheet and waits until it awaits its approval. */
  submit(rows: BulkRows): Promise<BulkGrant>;
  /** Approves what awaits its approval. */
  approve(bulkGrant: BulkGrant): Promise<void>;
  /** Waits until the bulk grant is done. Throws an error when a row is not granted. */
  done(bulkGrantId: string): Promise<BulkGrant>;
  /** Does all of this. */
  run(rows: BulkRows): Promise<BulkGrant>;
}

const programId = "default";
const pollMs = 250;
const rowsPerChunk = 1_000;
const chunkBytes = 32_768;

export function bulkCalls({ deps }: Stack, { port }: ServerProcess): BulkCalls {
  const client = createClient(
    BulkGrantService,
    createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }),
  );

  async function until(bulkGrantId: string, state: BulkGrantState): Promise<BulkGrant> {
    for (;;) {
      const found = await deps.reader.get(bulkGrantRef(programId, bulkGrantId));
      if (found?.value.state === state) return found.value;
      if (found?.value.endTime !== undefined || found?.value.state === "INVALID") {
        throw new Error(`${bulkGrantId} is ${found.value.state}, not ${state}`);
      }
      await sleep(pollMs);
    }
  }

  const calls = {
    upload: (rows: BulkRows) => upload(client, rows.id, csvOf(rows)),
    uploadWorkbook: (rows: BulkRows) => upload(client, rows.id, chunksOf(workbookWith(rows))),
    async submit(rows: BulkRows) {
      await calls.upload(rows);
      return until(rows.id, "AWAITING_APPROVAL");
    },
    async approve({ bulkGrantId, revision: { digest } }: BulkGrant) {
      await client.approveBulkGrant({ bulkGrantId, digest }, as("bench-approver"));
    },
    done: (bulkGrantId: string) => until(bulkGrantId, "DONE"),
  };
  return {
    ...calls,
    async run(rows) {
      await calls.approve(await calls.submit(rows));
      return calls.done(rows.id);
    },
  };
}

const as = (caller: string) => ({ headers: { "meguri-caller": caller } });

async function upload(
  client: Client<typeof BulkGrantService>,
  id: string,
  chunks: Iterable<Uint8Array>,
): Promise<void> {
  async function* messages(): AsyncGenerator<
    MessageInitShape<typeof UploadBulkGrantRequestSchema>
  > {
    yield { content: { case: "header", value: { bulkGrantId: id } } };
    for (const value of chunks) yield { content: { case: "csvChunk", value } };
    yield { content: { case: "end", value: {} } };
  }
  await client.uploadBulkGrant(messages(), as("bench"));
}

function* csvOf({ first, count }: BulkRows): Generator<Uint8Array> {
  yield Buffer.from("user_id,points,reason\n");
  for (let from = 0; from < count; from += rowsPerChunk) {
    const length = Math.min(rowsPerChunk, count - from);
    const lines = Array.from(
      { length },
      (_, i) => `${userName(first + from + i)},${bulkPoints},${bulkReason}\n`,
    );
    yield Buffer.from(lines.join(""));
  }
}

function workbookWith({ first, count }: BulkRows): Uint8Array {
  const users = Array.from({ length: count }, (_, i) => userName(first + i));
  const texts = ["user_id", "points", "reason", bulkReason, ...users];
  const shared = (column: string, line: number, index: number) =>
    `<c r="${column}${line}" t="s"><v>${index}</v></c>`;
  const rows = users.map((_, i) => {
    const line = i + 2;
    const points = `<c r="B${line}"><v>${bulkPoints}</v></c>`;
    return `<row r="${line}">${shared("A", line, i + 4)}${points}${shared("C", line, 3)}</row>`;
  });
  const names = ["A", "B", "C"].map((column, i) => shared(column, 1, i));
  const strings = texts.map((text) => `<si><t>${text}</t></si>`).join("");
  return workbookOf({ rows: `<row r="1">${names.join("")}</row>${rows.join("")}`, strings });
}

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** How long the run over the rows took, in ms. */
export function runMs({ startTime, endTime }: BulkGrant): number {
  if (startTime === undefined || endTime === undefined) throw new Error("the run is not over");
  return endTime - startTime;
}
