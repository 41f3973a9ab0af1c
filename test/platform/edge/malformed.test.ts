/** Tests requests that cannot be read: every protocol refuses them as INVALID_REQUEST. */

import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
} from "@bufbuild/protobuf";
import { EmptySchema, StructSchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import * as node from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const protocols = ["Connect", "gRPC-Web", "gRPC"] as const;

/** Connect and gRPC-Web use HTTP/1.1, gRPC uses HTTP/2. */
function connect(protocol: (typeof protocols)[number], useBinaryFormat: boolean): Transport {
  const http1 = {
    baseUrl: `http://127.0.0.1:${server.http1Port}`,
    httpVersion: "1.1",
    useBinaryFormat,
  } as const;
  if (protocol === "Connect") return node.createConnectTransport(http1);
  if (protocol === "gRPC-Web") return node.createGrpcWebTransport(http1);
  const baseUrl = `http://127.0.0.1:${server.port}`;
  return node.createGrpcTransport({ baseUrl, useBinaryFormat, idleConnectionTimeoutMs: 1 });
}

/** Calls a method with the message of another schema. */
async function call(transport: Transport, desc: DescMethod, schema: DescMessage, message: object) {
  const method = { ...desc, input: schema } as DescMethod;
  const headers = { "meguri-caller": "tests" };
  if (method.methodKind === "unary") {
    const asUnary = method as DescMethod & { methodKind: "unary" };
    await transport.unary(asUnary, undefined, undefined, headers, message as never);
    return;
  }
  async function* messages() {
    yield message as never;
  }
  const stream = transport.stream(
    method as DescMethod & { methodKind: "client_streaming" },
    undefined,
    undefined,
    headers,
    messages(),
  );
  for await (const _ of (await stream).message);
}

const { grantPoints, getBalance, getLedgerEntry } = PointsService.method;
const { updateProgram } = ProgramService.method;
const { react } = ReactionService.method;
const { batchCreateReservations, listReservations } = ReservationService.method;
const { uploadBulkGrant, watchBulkGrant } = BulkGrantService.method;

const account = { userId: "u" };
const many = "x".repeat(5_000);

describe.each(protocols)("JSON over %s", (protocol) => {
  test.each<[string, DescMethod, JsonObject, string]>([
    ["an unknown field", getBalance, { user: "u" }, "user: is not a field of GetBalanceRequest"],
    [
      "an unknown field of a part",
      react,
      { targetName: { type: "post", key: "1" } },
      "target_name.key: is not a field of TargetName",
    ],
    [
      "an unknown field of a stream's only request",
      watchBulkGrant,
      { id: "b" },
      "id: is not a field of WatchBulkGrantRequest",
    ],
    [
      "an unknown field within a stream",
      uploadBulkGrant,
      { header: { bulkGrant: "b" } },
      "header.bulkGrant: is not a field of Header",
    ],
    [
      "an unknown field with a long name",
      getBalance,
      { [many]: 1 },
      `${many.slice(0, 100)}: is not a field of GetBalanceRequest`,
    ],
    [
      "an unknown field with half a surrogate pair",
      getBalance,
      { "a\ud800": 1 },
      "a\ufffd: is not a field of GetBalanceRequest",
    ],
    [
      "an unknown field within a stream with half a surrogate pair",
      uploadBulkGrant,
      { "a\ud800": 1 },
      "a\ufffd: is not a field of UploadBulkGrantRequest",
    ],
    [
      "an unknown field that is cut within a surrogate pair",
      getBalance,
      { [`${many.slice(0, 99)}\u{1f600}`]: 1 },
      `${many.slice(0, 99)}\ufffd: is not a field of GetBalanceRequest`,
    ],
    ["a number for a text", getBalance, { userId: 5 }, "user_id: has to be a string"],
    [
      "a text for a number",
      grantPoints,
      { ...account, points: many },
      "points: has to be a whole number of 64 bits",
    ],
    [
      "a hexadecimal number",
      grantPoints,
      { ...account, points: "0x10" },
      "points: has to be a whole number of 64 bits",
    ],
    [
      "an octal number within",
      batchCreateReservations,
      { reservations: [{ userId: "0x1" }, { points: "0O17" }] },
      "reservations[1].points: has to be a whole number of 64 bits",
    ],
    [
      "a number for a message",
      batchCreateReservations,
      { reservations: [5] },
      "reservations[0]: has to be a JSON object",
    ],
    [
      "a time that is none",
      batchCreateReservations,
      { reservations: [{ executeTime: "noon" }] },
      "reservations[0].execute_time: has to be a time as 2026-01-01T00:00:00Z",
    ],
    [
      "a number for a text within",
      updateProgram,
      { program: { programId: 5 } },
      "program.program_id: has to be a string",
    ],
    [
      "a list for a field mask",
      updateProgram,
      { updateMask: ["lifetime_months"] },
      "update_mask: has to be a text of field names in lowerCamelCase, with commas",
    ],
    ["a list for a message", react, { targetName: [] }, "target_name: has to be a JSON object"],
    [
      "two of which one is allowed",
      getLedgerEntry,
      { number: "1", event: {} },
      "key: only one of number, event",
    ],
  ])("%s is refused by its name", async (_, method, json, message) => {
    const struct = fromJson(StructSchema, json);
    const refusal = await refusalOf(call(connect(protocol, false), method, StructSchema, struct));
    expect(refusal).toMatchObject({
      code: "InvalidArgument",
      reason: "INVALID_REQUEST",
      message,
      fields: [message.split(": ")[0]],
    });
  });
});

test("a null beside the other member of a oneof is unset", async () => {
  const json = fromJson(StructSchema, { userId: "u", state: null });
  await call(connect("Connect", false), listReservations, StructSchema, json);
});

describe.each(protocols)("Protobuf over %s", (protocol) => {
  const unknown = (no: number, wireType: number, data: readonly number[]) => ({
    ...create(EmptySchema),
    $unknown: [{ no, wireType, data: Uint8Array.from(data) }],
  });

  test.each([getBalance, watchBulkGrant, uploadBulkGrant])(
    "that breaks off: $name",
    async (rpc) => {
      // A text of 100 bytes, of which two are there.
      const message = unknown(2, 2, [100, 65, 65]);
      const refusal = await refusalOf(call(connect(protocol, true), rpc, EmptySchema, message));
      expect(refusal).toMatchObject({
        code: "InvalidArgument",
        reason: "INVALID_REQUEST",
        message: `the request is not a ${rpc.input.name} in the Protobuf format`,
      });
    },
  );

  test("with an unknown field is read, as of a newer client", async () => {
    const message = {
      ...create(getBalance.input, account),
      $unknown: unknown(999, 0, [1]).$unknown,
    };
    await call(connect(protocol, true), getBalance, getBalance.input, message);
  });
});

describe("a request by hand", () => {
  const url = (method: string) =>
    `http://127.0.0.1:${server.http1Port}/${PointsService.typeName}/${method}`;
  const post = (body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) =>
    fetch(url("GetBalance"), {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "meguri-caller": "curl", ...more },
    });

  test.each([
    ["{", {}, /^the request is not JSON: an error at position 1 /],
    ["", {}, /^the request is not JSON$/],
    ["[]", {}, /^the request is not a GetBalanceRequest as a JSON object$/],
    ["null", {}, /^the request is not a GetBalanceRequest as a JSON object$/],
    ['{"userId":"a","userId":"b"}', {}, /^userId: is given twice$/],
    ["[".repeat(60_000), {}, /^the request is not JSON/],
    ["{}", { "content-encoding": "gzip" }, /^(decompression failed|the request cannot be read)$/],
    [
      "{}",
      { "connect-timeout-ms": "soon" },
      /^protocol error: invalid connect timeout value: soon$/,
    ],
  ])("%.30s %o", async (body, headers, message) => {
    const response = await post(body, headers);
    const error = (await response.json()) as { code: string; message: string; details: object[] };
    expect([response.status, error.code]).toEqual([400, "invalid_argument"]);
    expect(error.message).toMatch(message);
    expect(error.details).toMatchObject([
      { debug: { reason: "INVALID_REQUEST", domain: "meguri" } },
      { type: "google.rpc.BadRequest" },
    ]);
  });

  test("that is not UTF-8 is refused in a body and in a URL", async () => {
    const wrong = {
      code: "invalid_argument",
      message: "the request is not UTF-8: byte 0x8f at offset 11",
    };
    const body = Buffer.from('{"userId":"\x8f"}', "latin1");
    expect(await (await post(body)).json()).toMatchObject(wrong);
    const get = async (query: string) => {
      const all = `${url("GetBalance")}?connect=v1&encoding=json&${query}`;
      return (await fetch(all, { headers: { "meguri-caller": "curl" } })).json();
    };
    const inBase64 = `base64=1&message=${body.toString("base64url")}`;
    expect(await get(inBase64)).toMatchObject(wrong);
    for (const name of ["message", "mess%61ge"]) {
      const refused = await get(`${name}=%7B%22userId%22:%22%8F%22%7D`);
      expect(refused).toMatchObject({ ...wrong, message: "the URL is not UTF-8" });
    }
    expect(await get("message=%7B%22userId%22:%22%E7%94%B0%22%7D")).toMatchObject({
      message: expect.stringContaining("user_id"),
    });
  });

  test.each(["host: [", "host: a b", "x: no host"])(
    "with %s does not end the server",
    async (line) => {
      const socket = connectTcp(server.http1Port, "127.0.0.1");
      const path = `/${PointsService.typeName}/GetBalance`;
      socket.write(`POST ${path} HTTP/1.0\r\n${line}\r\ncontent-type: application/json\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
      expect((await post('{"userId":"u"}')).status).toBe(200);
    },
  );

  test("that is too large is answered, and then its connection is closed", async () => {
    const socket = connectTcp(server.http1Port, "127.0.0.1");
    socket.on("error", () => undefined);
    const received: string[] = [];
    socket.setEncoding("utf8").on("data", (part: string) => received.push(part));
    const path = `/${PointsService.typeName}/GetBalance`;
    const large = Buffer.alloc(2 ** 21, 0x7f);
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nmeguri-caller: curl\r\n` +
        `content-type: application/grpc-web+proto\r\ncontent-length: ${large.length}\r\n\r\n`,
    );
    socket.write(large);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(received.join("")).toContain("grpc-status: 3");
    socket.destroy();
  });

  test("that is refused before its end says that its connection is closed", async () => {
    const socket = connectTcp(server.http1Port, "127.0.0.1");
    const path = `/${PointsService.typeName}/GetBalance`;
    socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`);
    socket.write("content-length: 400000\r\n\r\n{");
    // Until the server closes its side.
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 4\d\d .*\r\nconnection: close\r\n/is);
    expect((await post('{"userId":"u"}')).headers.get("connection")).toBe("keep-alive");
  });

  test("with a message in the URL that is not base64", async () => {
    const query = new URLSearchParams({ encoding: "proto", base64: "1", message: "*" });
    const headers = { "meguri-caller": "curl" };
    const response = await fetch(`${url("GetBalance")}?${query}`, { headers });
    expect(await response.json()).toMatchObject({ code: "invalid_argument" });
  });

  test("in an unknown compression keeps the answer of the protocol", async () => {
    const response = await post("{}", { "content-encoding": "zstd" });
    expect(await response.json()).toMatchObject({ code: "unimplemented" });
  });
});
