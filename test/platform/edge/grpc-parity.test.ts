/** Tests that unary gRPC calls are answered as connect-node answers them. */
import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { ErrorInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import {
  GetBalanceRequestSchema,
  PointsService,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { createListeners } from "../../../src/platform/edge/listeners.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { expectSame as expectSameAnswer } from "../../support/servers/parity.ts";
import { frame, openSession, type RawCall } from "../../support/servers/raw-grpc.ts";
import { toRefusal } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

const path = `/${PointsService.typeName}/GetBalance`;
const messageOf = (userId: string) =>
  toBinary(GetBalanceRequestSchema, create(GetBalanceRequestSchema, { userId }));
const answer = (text: string) => ({ balance: { nextExpiring: { month: text } } });

/** What the handler does, by the user id of the request. */
const behaviours: Record<string, (context: HandlerContext) => unknown> = {
  good: () => answer("good"),
  long: () => answer("x".repeat(5_000)),
  "too-long": () => answer("x".repeat(5 * 2 ** 20)),
  headers({ requestHeader, responseHeader, responseTrailer }) {
    responseHeader.set("x-seen", [...requestHeader.keys()].sort().join());
    responseHeader.set("x-binary", requestHeader.get("X-Own-Bin") ?? "");
    responseTrailer.set("x-trailer", String(requestHeader.has("x-nothing")));
    return answer("headers");
  },
  context: ({ method, service, protocolName, requestMethod, timeoutMs }) =>
    answer([method.name, service.name, protocolName, requestMethod, timeoutMs()].join()),
  error() {
    throw new Error("the table is gone");
  },
  refusal({ responseTrailer }) {
    responseTrailer.set("x-trailer", "kept");
    throw new ConnectError("巡り: 100 %\n", Code.DataLoss, { "x-metadata": "m" }, [
      { desc: ErrorInfoSchema, value: { reason: "R", domain: "d", metadata: { a: "b" } } },
    ]);
  },
  "no-message": () => ({ balance: { availablePoints: "many" } }),
};

const listeners = createListeners({
  corsOrigins: [],
  routes: (router) => {
    router.service(PointsService, {
      getBalance: ({ userId }, context) => behaviours[userId]?.(context) as object,
    });
  },
});
let session: ClientHttp2Session;

beforeAll(async () => {
  const { port } = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 });
  session = await openSession(port);
});
afterAll(async () => {
  session.destroy();
  await listeners.drain(0);
});

/** Sends a call of GetBalance, or of another method, both ways. */
const expectSame = (over: ClientHttp2Session, call: Partial<RawCall>) =>
  expectSameAnswer(over, { path, ...call });

const good = frame(messageOf("good"));
const compressed = (data: Uint8Array) => frame(data, 1);
const bytesOf = (chunk: Buffer) => [...chunk].map((byte) => Buffer.from([byte]));
const gzip: OutgoingHttpHeaders = { "grpc-encoding": "gzip" };

/** Calls with the status that both answer. */
const calls: [what: string, status: string | undefined, call: Partial<RawCall>][] = [
  ["a message in one frame", "0", { chunks: [good] }],
  ["a message in frames of one byte", "0", { chunks: bytesOf(good) }],
  ["an empty frame before the message", "0", { chunks: [Buffer.alloc(0), good] }],
  ["gzip", "0", { chunks: [compressed(gzipSync(messageOf("good")))], headers: gzip }],
  [
    "brotli",
    "0",
    {
      chunks: bytesOf(compressed(brotliCompressSync(messageOf("good")))),
      headers: { "grpc-encoding": "br" },
    },
  ],
  ["no compression in spite of the header", "0", { chunks: [good], headers: gzip }],
  ["identity", "0", { chunks: [good], headers: { "grpc-encoding": "identity" } }],
  ["an unknown compression", "12", { chunks: [good], headers: { "grpc-encoding": "zip" } }],
  ["no gzip", "3", { chunks: [compressed(messageOf("good"))], headers: gzip }],
  [
    "a message that is too large when it is decompressed",
    "3",
    { chunks: [compressed(gzipSync(Buffer.alloc(70_000)))], headers: gzip },
  ],
  ["a message that is too large", "3", { chunks: [frame(Buffer.alloc(70_000))] }],
  ["the announcement of 4 GiB", "3", { chunks: [frame(Buffer.alloc(9), 0, 2 ** 32 - 1)] }],
  ["no message", "12", {}],
  ["two messages", "12", { chunks: [good, good] }],
  ["two messages in one frame", "12", { chunks: [Buffer.concat([good, good])] }],
  ["a message and the start of another", "3", { chunks: [good, good.subarray(0, 3)] }],
  ["half a prefix", "3", { chunks: [good.subarray(0, 3)] }],
  ["half a message", "3", { chunks: [good.subarray(0, -2)] }],
  ["a second message that is too large", "3", { chunks: [good, frame(good, 0, 70_000)] }],
  ["a long answer", "0", { chunks: [frame(messageOf("long"))] }],
  [
    "a long answer to a client that takes gzip",
    "0",
    { chunks: [frame(messageOf("long"))], headers: { "grpc-accept-encoding": "identity, gzip" } },
  ],
  [
    "a short answer to a client that takes gzip",
    "0",
    { chunks: [good], headers: { "grpc-accept-encoding": "identity,deflate,gzip" } },
  ],
  [
    "an error for a client that takes brotli",
    "13",
    { chunks: [frame(messageOf("error"))], headers: { "grpc-accept-encoding": "br" } },
  ],
  ["an answer over the limit", "8", { chunks: [frame(messageOf("too-long"))] }],
  [
    "headers",
    "0",
    {
      chunks: [frame(messageOf("headers"))],
      headers: { "x-own": ["a", "b"], "x-own-bin": "AAEC", cookie: ["a=1", "b=2"] },
    },
  ],
  ["the context", "0", { chunks: [frame(messageOf("context"))] }],
  ["an unexpected error", "13", { chunks: [frame(messageOf("error"))] }],
  ["a refusal with details", "15", { chunks: [frame(messageOf("refusal"))] }],
  ["an answer that is no message", "13", { chunks: [frame(messageOf("no-message"))] }],
  ["a deadline", "0", { chunks: [good], headers: { "grpc-timeout": "30S" } }],
  ["no deadline", "3", { chunks: [good], headers: { "grpc-timeout": "soon" } }],
  ["a deadline without a unit", "3", { chunks: [good], headers: { "grpc-timeout": "30" } }],
  ["no TE", "0", { chunks: [good], headers: { te: undefined } }],
  [
    "application/grpc+proto",
    "0",
    { chunks: [good], headers: { "content-type": "application/grpc+proto" } },
  ],
  ["APPLICATION/GRPC", "0", { chunks: [good], headers: { "content-type": "APPLICATION/GRPC" } }],
  [
    "JSON",
    "0",
    {
      chunks: [frame(Buffer.from('{"userId":"good"}'))],
      headers: { "content-type": "application/grpc+json" },
    },
  ],
  [
    "another codec",
    undefined,
    { chunks: [good], headers: { "content-type": "application/grpc+x" } },
  ],
  ["another content type", undefined, { chunks: [good], headers: { "content-type": "text/xml" } }],
  ["no content type", undefined, { chunks: [good], headers: { "content-type": undefined } }],
  ["PUT", undefined, { chunks: [good], headers: { ":method": "PUT" } }],
  ["GET", undefined, { headers: { ":method": "GET" } }],
  ["100-continue", "0", { chunks: [good], headers: { expect: "100-continue" } }],
  [
    "a method without an implementation",
    "12",
    { path: `/${PointsService.typeName}/GetForecast`, chunks: [good] },
  ],
];

describe("the answer is that of connect-node to", () => {
  test.each(calls)("%s", async (_, status, call) => {
    const found = await expectSame(session, call);
    expect(found["grpc-status"]).toBe(status);
  });
});

test.each<[string, Partial<RawCall>]>([
  ["no Protobuf", { chunks: [frame(Buffer.from([0xff]))] }],
  ["no UTF-8", { chunks: [frame(Buffer.from([0x12, 1, 0xff]))] }],
  ["compressed without saying how", { chunks: [compressed(gzipSync(messageOf("good")))] }],
  [
    "cut gzip",
    { chunks: [compressed(gzipSync(messageOf("good")).subarray(0, -4))], headers: gzip },
  ],
])("bytes that are no request are an INVALID_REQUEST: %s", async (_, call) => {
  const found = await expectSame(session, call);
  const error = findTrailerError(new Headers(found as Record<string, string>));
  expect(toRefusal(error)).toMatchObject({ code: "InvalidArgument", reason: "INVALID_REQUEST" });
});

describe("with the interceptors, the answer is that of connect-node to", () => {
  let proxy: DynamoProxy;
  let server: TestServer;
  let real: ClientHttp2Session;
  const named: OutgoingHttpHeaders = { "meguri-caller": "raw" };

  beforeAll(async () => {
    proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
    server = await startServer({ testClock: false, dynamoEndpoint: proxy.endpoint });
    await server.points.getBalance({ userId: "u" });
    real = await openSession(server.port);
  });
  afterAll(async () => {
    real.destroy();
    proxy.faults({});
    await server.stop();
    await proxy.stop();
  });

  test("a good call", async () => {
    const found = await expectSame(real, { chunks: [good], headers: named });
    expect(found["grpc-status"]).toBe("0");
  });

  test.each([
    ["a call without a caller", "16", { chunks: [good] }],
    ["a broken rule", "3", { chunks: [frame(messageOf("a#b"))], headers: named }],
    [
      "a refusal",
      "5",
      {
        path: `/${PointsService.typeName}/GetLedgerEntry`,
        chunks: [frame(Buffer.from([0x12, 1, 0x75, 0x18, 1]))],
        headers: named,
      },
    ],
    [
      "a deadline that has passed",
      "4",
      { chunks: [good], headers: { ...named, "grpc-timeout": "0m" } },
    ],
  ])("%s", async (_, status, call) => {
    const found = await expectSame(real, call);
    expect(found["grpc-status"]).toBe(status);
    expect(found["grpc-status-details-bin"]).toBeDefined();
  });

  test("a store that hangs", async () => {
    proxy.faults({ delay: 1, delayMs: [600_000, 600_000] });
    // Long after the store counts as silent, also on a slow machine.
    const headers = { ...named, "grpc-timeout": "60S" };
    const found = await expectSame(real, { chunks: [good], headers });
    expect(found["grpc-status"]).toBe("14");
  });
});
