/** Tests uploads of bulk grants: what they store and refuse, and that nothing is left over. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BulkGrant_State as State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  BulkGrantService,
  UploadBulkGrantRequestSchema,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  completeCheck,
  csvMessage,
  endMessage,
  headerMessage,
  pendingUploads,
  rowsMessage,
  sheet,
  submitLines,
  uploadCsv,
  uploadMessages,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { inlineRows, workbookOf } from "../../support/fixtures/workbooks.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import {
  type MemoryServer,
  startMemoryServer,
  startServer,
  type TestServer,
} from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let server: TestServer;
/** A server on a store in memory, for the largest sheets. */
let inMemory: MemoryServer;
beforeAll(async () => {
  inMemory = await startMemoryServer();
  server = await startServer();
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
});
afterAll(async () => {
  await inMemory.stop();
  await server.stop();
});

const header = (bulkGrantId: string) => headerMessage({ bulkGrantId });

/** Rows `u0`, `u1` and so on, as lines of CSV. */
const lines = (count: number) => Array.from({ length: count }, (_, i) => `u${i},${i + 1},r`);

describe("an upload", () => {
  test("of a workbook cut anywhere has the digest of the same rows in CSV", async () => {
    const bytes = workbookOf({
      rows: inlineRows(["user_id", "points", "reason"], ["x1", "5", "春"], ["x2", "7", ""]),
    });
    const chunks = [bytes.subarray(0, 2), bytes.subarray(2, 700), bytes.subarray(700)];
    const upload = (bulkGrantId: string, contents: readonly Uint8Array[]) =>
      uploadMessages(server, [header(bulkGrantId), ...contents.map(csvMessage), endMessage]);
    const fromWorkbook = await upload("book", chunks);
    expect(fromWorkbook.bulkGrant).toMatchObject({ rowCount: 2, totalPoints: 12n });
    const fromCsv = await upload("book", [Buffer.from(sheet("x1,5,春", "x2,7,"))]);
    expect([fromCsv.replayed, fromCsv.revision]).toEqual([true, 1]);
  });

  test("of CSV cut anywhere is stored as a bulk grant that is being validated", async () => {
    const bytes = Buffer.from(sheet("u1,5,ありがとう", "u2,7,"));
    const pieces = Array.from(bytes, (byte) => csvMessage(Buffer.from([byte])));
    const { bulkGrant, replayed, check } = await uploadMessages(server, [
      headerMessage({ bulkGrantId: "csv", executeTime: at("2026-12-01T00:00:00Z") }),
      ...pieces,
      endMessage,
    ]);
    expect([replayed, check]).toEqual([false, undefined]);
    expect(bulkGrant).toMatchObject({
      programId: "default",
      bulkGrantId: "csv",
      state: State.VALIDATING,
      revision: 1,
      rowCount: 2,
      totalPoints: 12n,
      executeTime: at("2026-12-01T00:00:00Z"),
      requiredApprovalCount: 1,
      submitter: { service: "tests", subject: "tests" },
    });
    const { rows } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId: "csv" });
    expect(rows.map(({ line, userId, points, reason }) => [line, userId, points, reason])).toEqual([
      [2, "u1", 5n, "ありがとう"],
      [3, "u2", 7n, ""],
    ]);
    await eventually(async () =>
      expect(server.workflows.calls).toContain("refreshBulkGrant default csv"),
    );
  });

  test("of rows has the digest of the same rows in CSV", async () => {
    const rows = Array.from({ length: 1_100 }, (_, i) => ({
      userId: `u${i}`,
      points: BigInt(i + 1),
      reason: "r",
    }));
    const { bulkGrant } = await uploadMessages(server, [
      header("rows"),
      rowsMessage(rows.slice(0, 500)),
      rowsMessage(rows.slice(500, 1_000)),
      rowsMessage([]),
      rowsMessage(rows.slice(1_000)),
      endMessage,
    ]);
    const same = await submitLines(server, { bulkGrantId: "same-rows" }, ...lines(1_100));
    expect(bulkGrant?.rowCount).toBe(1_100);
    expect(same.rowsDigest).toBe(bulkGrant?.rowsDigest);
    expect(same.digest).not.toBe(bulkGrant?.digest);
    expect([bulkGrant?.sameContentBulkGrantId, same.sameContentBulkGrantId]).toEqual(["", "rows"]);
  });

  test("with the same content changes nothing", async () => {
    const first = await uploadCsv(server, { bulkGrantId: "again" }, sheet("u,1,"));
    const again = await uploadCsv(server, { bulkGrantId: "again" }, sheet("u,1,"));
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again.bulkGrant).toEqual(first.bulkGrant);
    expect(await pendingUploads(server)).toEqual([]);
  });

  test("has a title, which is not part of its content and may change with it", async () => {
    const title = "20221101_キャンペーン1";
    const upload = (title: string, ...lines: string[]) =>
      uploadCsv(server, { bulkGrantId: "titled", title }, sheet(...lines));
    const first = await upload(title, "u,1,", "u,1,");
    const again = await upload("another title", "u,1,", "u,1,");
    expect(again).toMatchObject({ replayed: true, bulkGrant: { title } });
    expect(again.bulkGrant?.digest).toBe(first.bulkGrant?.digest);
    await completeCheck(server, "titled");
    expect((await upload("corrected", "u,1,")).bulkGrant).toMatchObject({
      revision: 2,
      title: "corrected",
    });
    const { bulkGrants } = await server.bulkGrants.listBulkGrants({});
    expect(bulkGrants.find(({ title }) => title === "corrected")?.bulkGrantId).toBe("titled");
    for (const wrong of ["点".repeat(1_366), "\u200b\u3164"]) {
      expect(await reasonOf(upload(wrong, "u,1,"))).toBe("INVALID_REQUEST");
    }
  });

  test("sent twice at once is one bulk grant", async () => {
    const csv = sheet(...lines(600));
    const answers = await Promise.all(
      [1, 2].map(() => uploadCsv(server, { bulkGrantId: "at-once" }, csv)),
    );
    expect(answers.map(({ replayed }) => replayed).sort()).toEqual([false, true]);
    expect(answers[0]?.bulkGrant).toEqual(answers[1]?.bulkGrant);
    expect(answers[0]?.bulkGrant?.revision).toBe(1);
    expect(await pendingUploads(server)).toEqual([]);
  });

  test("with validate_only answers what is wrong and writes nothing", async () => {
    const before = await dump(server);
    const { bulkGrant, check } = await uploadCsv(
      server,
      { bulkGrantId: "only", validateOnly: true },
      sheet("u1,5,", "u1,x,", "u2,7,"),
    );
    expect(bulkGrant).toBeUndefined();
    expect(check).toMatchObject({ rowCount: 3, totalPoints: 12n, invalidCount: 1 });
    expect(await dump(server)).toEqual(before);
  });
});

test("a broken quote costs its row, and makes the bulk grant INVALID", async () => {
  const bulkGrantId = "broken";
  await submitLines(server, { bulkGrantId }, "u1,5,", 'u2,7,"a', "u3,x,", "u4,9,");
  const bulkGrant = await completeCheck(server, bulkGrantId);
  expect(bulkGrant).toMatchObject({ state: State.INVALID, rowCount: 4, invalidCount: 2 });
  const { rows } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId });
  expect(rows).toMatchObject([
    { line: 2, userId: "u1", problems: [{ code: "NOT_RUN" }] },
    { line: 3, userId: "u2", points: 7n, problems: [{ line: 3, code: "QUOTE_NOT_CLOSED" }] },
    { line: 4, userId: "u3", problems: [{ code: "POINTS_MALFORMED" }] },
    { line: 5, userId: "u4", problems: [{ code: "NOT_RUN" }] },
  ]);
});

describe("a sheet that cannot be read", () => {
  test.each([
    ["user_id,points,colour\nu1,5,red\n", "COLUMN_UNKNOWN", "1"],
    [sheet("u1,5,", "u2,7,a\0b"), "NUL_BYTE", "3"],
  ])("is refused by its code and line: %j", async (csv, code, line) => {
    const before = await dump(server);
    const refusal = await refusalOf(uploadCsv(server, { bulkGrantId: "wrong" }, csv));
    expect(refusal).toMatchObject({
      code: "InvalidArgument",
      reason: "INVALID_REQUEST",
      metadata: { field: "csv", code, line },
      fields: ["csv"],
    });
    expect(await dump(server)).toEqual(before);
  });

  test("1,000 rows before a fault are stored, and none is kept", async () => {
    const before = await dump(server);
    const csv = sheet(...lines(1_000), "u,1,a\0b");
    const refusal = await refusalOf(uploadCsv(server, { bulkGrantId: "rows" }, csv));
    expect(refusal.metadata).toMatchObject({ code: "NUL_BYTE", line: "1002" });
    expect(await pendingUploads(server)).toEqual([]);
    expect(await dump(server)).toEqual(before);
  });

  test("33 MiB are refused before they are read to the end", async () => {
    const row = `,5,${"r".repeat(128)}\n`;
    let sent = 0;
    function* messages() {
      yield header("large");
      yield csvMessage("user_id,points,reason\n");
      for (let i = 0; sent < 33 * 2 ** 20; i++) {
        const users = Array.from({ length: 300 }, (_, j) => `u${i}-${j}`.padEnd(60, "x"));
        const chunk = users.map((userId) => userId + row).join("");
        sent += chunk.length;
        yield csvMessage(chunk);
      }
    }
    const refusal = await refusalOf(uploadMessages(inMemory, messages()));
    expect([refusal.reason, refusal.metadata.code]).toEqual(["INVALID_REQUEST", "TOO_LARGE"]);
    expect(await pendingUploads(inMemory)).toEqual([]);
  });
});

describe("messages in a wrong order", () => {
  const csv = csvMessage(sheet("u,1,"));
  const rows = rowsMessage([{ userId: "u", points: 1n }]);

  test.each([
    ["no message", [], "end"],
    ["no header", [csv], "header"],
    ["the header last", [csv, header("x")], "header"],
    ["two headers", [header("x"), header("x"), csv], "header"],
    ["a header in between", [header("x"), csv, header("x"), csv], "header"],
    ["CSV, then rows", [header("x"), csv, rows, endMessage], "content"],
    ["rows, then CSV", [header("x"), rows, csv, endMessage], "content"],
    ["no end", [header("x"), csv], "end"],
    ["a header alone", [header("x")], "end"],
    ["CSV after the end", [header("x"), csv, endMessage, csv], "content"],
    ["an empty message", [header("x"), {}], "content"],
    ["a chunk too large", [header("x"), csvMessage("u".repeat(60_001))], "csv_chunk"],
    [
      "too many rows in a message",
      [header("x"), rowsMessage(Array.from({ length: 501 }, () => ({ userId: "u" })))],
      "rows.rows",
    ],
    ["a malformed id", [header("a#b")], "header.bulk_grant_id"],
  ])("%s is refused", async (_, messages, field) => {
    const { reason, fields } = await refusalOf(uploadMessages(server, messages));
    expect([reason, fields]).toEqual(["INVALID_REQUEST", [field]]);
    expect(await pendingUploads(server)).toEqual([]);
  });

  test("nothing between header and end is an empty sheet", async () => {
    const { metadata } = await refusalOf(uploadMessages(server, [header("x"), endMessage]));
    expect(metadata.code).toBe("EMPTY");
  });
});

describe("a refused upload", () => {
  test("of an unknown program, or too far ahead, leaves nothing", async () => {
    const before = await dump(server);
    const csv = sheet("u,1,");
    const unknown = uploadCsv(server, { programId: "none", bulkGrantId: "x" }, csv);
    expect(await reasonOf(unknown)).toBe("PROGRAM_NOT_FOUND");
    const executeTime = at("2032-01-01T00:00:00Z");
    for (const validateOnly of [false, true]) {
      const late = uploadCsv(server, { bulkGrantId: "x", executeTime, validateOnly }, csv);
      expect((await refusalOf(late)).fields).toEqual(["execute_time"]);
    }
    expect(await dump(server)).toEqual(before);
  });

  test("of other rows while the first ones are validated is in a wrong state", async () => {
    await submitLines(server, { bulkGrantId: "busy" }, "u,1,");
    const refusal = await refusalOf(uploadCsv(server, { bulkGrantId: "busy" }, sheet("u,2,")));
    expect(refusal).toMatchObject({ reason: "WRONG_STATE", metadata: { state: "VALIDATING" } });
    expect(await pendingUploads(server)).toEqual([]);
  });
});

/** The bytes of messages as gRPC frames them. */
const framed = (messages: readonly ReturnType<typeof header>[]): Buffer =>
  Buffer.concat(
    messages.map((message) => {
      const bytes = toBinary(
        UploadBulkGrantRequestSchema,
        create(UploadBulkGrantRequestSchema, message),
      );
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(bytes.length, 1);
      return Buffer.concat([prefix, bytes]);
    }),
  );

describe("an upload that is cut off", () => {
  /** Sends a part of an upload that is complete rows, and returns when it is being stored. */
  async function begin(bulkGrantId: string) {
    const session = connect(`http://127.0.0.1:${server.port}`);
    session.on("error", () => undefined);
    const request = session.request({
      ":method": "POST",
      ":path": `/${BulkGrantService.typeName}/UploadBulkGrant`,
      "content-type": "application/grpc",
      te: "trailers",
      "meguri-caller": "tests",
    });
    request.on("error", () => undefined);
    request.write(framed([header(bulkGrantId), csvMessage(sheet(...lines(1_000)))]));
    await eventually(async () => expect(await pendingUploads(server)).toHaveLength(1));
    return { session, request };
  }

  const noError = 0;
  const cancelled = 8;

  test.each([
    ["by a reset", (request: ClientHttp2Stream) => request.close(cancelled)],
    ["by a reset without an error", (request: ClientHttp2Stream) => request.close(noError)],
    [
      "by the end of its connection",
      (_: unknown, session: ClientHttp2Session) => session.destroy(),
    ],
  ])("%s leaves nothing", async (how, cut) => {
    const before = await dump(server);
    const bulkGrantId = `cut-${how.length}`;
    const { session, request } = await begin(bulkGrantId);
    cut(request, session);
    await eventually(async () => expect(await dump(server)).toEqual(before));
    const read = server.bulkGrants.getBulkGrant({ bulkGrantId });
    expect(await reasonOf(read)).toBe("BULK_GRANT_NOT_FOUND");
    session.destroy();
  });

  test("by its deadline leaves nothing", async () => {
    const before = await dump(server);
    const messages = (async function* () {
      yield header("deadline");
      yield csvMessage(sheet(...lines(300)));
      await once(AbortSignal.timeout(1_500), "abort");
    })();
    const call = server.bulkGrants.uploadBulkGrant(messages, { timeoutMs: 500 });
    await expect(call).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await eventually(async () => expect(await dump(server)).toEqual(before));
  });
});

test("a slow upload ends with DEADLINE and leaves nothing", async () => {
  const { tablePrefix } = server.config;
  const hasty = await startServer({ tablePrefix, uploadIdleMs: 200 });
  try {
    const before = await dump(server);
    const { promise: never } = Promise.withResolvers<void>();
    const messages = (async function* () {
      yield header("slow");
      yield csvMessage(sheet(...lines(300)));
      await never;
    })();
    const refusal = await refusalOf(uploadMessages(hasty, messages));
    expect(refusal).toMatchObject({ code: "DeadlineExceeded", reason: "DEADLINE" });
    await eventually(async () => expect(await dump(server)).toEqual(before));
  } finally {
    await hasty.stop();
  }
});

test("an upload over HTTP/1.1 is read as it arrives", async () => {
  const transport = createConnectTransport({
    baseUrl: `http://127.0.0.1:${server.http1Port}`,
    httpVersion: "1.1",
    interceptors: [
      (next) => (req) => {
        req.header.set("meguri-caller", "tests");
        return next(req);
      },
    ],
  });
  const bulkGrants = createClient(BulkGrantService, transport);
  const messages = (async function* () {
    yield header("http1");
    yield csvMessage("user_id,points\n");
    yield csvMessage("u,1\n");
    yield endMessage;
  })();
  const { bulkGrant } = await uploadMessages({ bulkGrants }, messages);
  expect(bulkGrant?.rowCount).toBe(1);
});
