/** Tests that a large body is refused before it is parsed field by field. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BulkGrantService,
  type CheckSheetRequest,
  CheckSheetRequestSchema,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { requireOneLongValue } from "../../../src/platform/edge/large-bodies.ts";
import { frame, openSession, send } from "../../support/servers/raw-grpc.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const { checkSheet } = BulkGrantService.method;
const path = `/${BulkGrantService.typeName}/CheckSheet`;

const requestOf = (content: CheckSheetRequest["content"]) =>
  create(CheckSheetRequestSchema, { bulkGrantId: "b", content });
const rows = (count: number) => Array.from({ length: count }, () => ({ userId: "u" }));
const ofRows = (count: number) =>
  create(CheckSheetRequestSchema, {
    bulkGrantId: "b",
    content: { case: "rows", value: { rows: rows(count) } },
  });
const reason = (i: number) => createHash("sha512").update(String(i)).digest("hex");
const lines = Array.from({ length: 600 }, (_, i) => `u${i},1,${reason(i)}`);
const csv = Buffer.from(`user_id,points,reason\n${lines.join("\n")}\n`);
const sheet = requestOf({ case: "csv", value: csv });
/** With one reason in every row, a sheet inflates to more than 40 times its size. */
const sameReasons = Array.from({ length: 4_000 }, (_, i) => `u${i},1,${"春の感謝祭".repeat(8)}`);
const repetitive = requestOf({
  case: "csv",
  value: Buffer.from(["user_id,points,reason", ...sameReasons].join("\n")),
});

const binary = (request: CheckSheetRequest) =>
  Buffer.from(toBinary(CheckSheetRequestSchema, request));
const json = (request: CheckSheetRequest) =>
  Buffer.from(toJsonString(CheckSheetRequestSchema, request));

describe("beyond 64 KiB a message has one long value", () => {
  test("such as a sheet", () => {
    requireOneLongValue(checkSheet, binary(sheet));
    requireOneLongValue(checkSheet, json(sheet), true);
    requireOneLongValue(checkSheet, binary(ofRows(500)));
  });

  const objects = Array.from({ length: 40_000 }, () => "{}").join(",");
  test.each<[string, Buffer, boolean]>([
    ["many rows", binary(ofRows(20_000)), false],
    ["many unknown fields", Buffer.alloc(80_000, Buffer.from([0x78, 1])), false],
    ["many sheets", Buffer.alloc(80_000, Buffer.from([0x1a, 1, 97])), false],
    ["many rows in JSON", json(ofRows(20_000)), true],
    ["rows beside a text with a quote", Buffer.from(`{"a":"\\"","r":[${objects}]}`), true],
    ["rows behind a text that does not end", Buffer.from(`["${objects}`), true],
    ["spaces", Buffer.alloc(80_000, 32), true],
  ])("not %s", (_, message, isJson) => {
    const check = () => requireOneLongValue(checkSheet, message, isJson);
    expect(check).toThrow(expect.objectContaining({ reason: "REQUEST_TOO_LARGE" }));
  });

  test("what is no message is left to the parser", () => {
    requireOneLongValue(checkSheet, Buffer.alloc(80_000, 0xff));
  });
});

describe("a server", () => {
  let server: MemoryServer;
  let session: Awaited<ReturnType<typeof openSession>>;
  beforeAll(async () => {
    server = await startMemoryServer();
    session = await openSession(server.port);
  });
  afterAll(async () => {
    session.destroy();
    await server.stop();
  });

  const gzipped = (message: Buffer) => frame(gzipSync(message), 1);
  const kinds: [string, string, (request: CheckSheetRequest) => Buffer, object][] = [
    ["gRPC", "application/grpc", (request) => frame(binary(request)), {}],
    ["gRPC with gzip", "application/grpc", (r) => gzipped(binary(r)), { "grpc-encoding": "gzip" }],
    ["gRPC with JSON", "application/grpc+json", (request) => frame(json(request)), {}],
    ["gRPC-Web", "application/grpc-web+proto", (request) => frame(binary(request)), {}],
    [
      "gRPC-Web with gzip",
      "application/grpc-web",
      (request) => gzipped(binary(request)),
      { "grpc-encoding": "gzip" },
    ],
    ["Connect", "application/proto", binary, {}],
    ["Connect with JSON", "application/json", json, {}],
    [
      "Connect with gzip",
      "application/json",
      (request) => gzipSync(json(request)),
      { "content-encoding": "gzip" },
    ],
  ];

  test.each(kinds)(
    "takes a sheet, and refuses many rows, over %s",
    async (_, type, encode, more) => {
      const call = (request: CheckSheetRequest) =>
        send(session, {
          path,
          headers: { "meguri-caller": "tests", "content-type": type, ...more },
          chunks: [encode(request)],
        });
      const textOf = ({ body, trailers }: Awaited<ReturnType<typeof send>>) =>
        `${Buffer.from(body, "base64").toString("latin1")} ${JSON.stringify(trailers)}`;
      for (const one of [sheet, repetitive]) {
        const taken = textOf(await call(one));
        expect(taken).not.toMatch(/"code"|grpc-status(: ?|":")[1-9]/);
      }
      const refused = textOf(await call(ofRows(20_000)));
      expect(refused.replaceAll("%20", " ")).toContain(
        "the request may have at most 65536 bytes beside one long text",
      );
    },
  );
});
