/** Tests gRPC calls with a stream of answers: as connect-node answers them, and how they end. */
import { once } from "node:events";
import { type ClientHttp2Session, constants, type OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ErrorInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import {
  NotificationService,
  WatchUnreadCountsRequestSchema,
} from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { publicInterceptors } from "../../../src/platform/edge/interceptors.ts";
import { createListeners } from "../../../src/platform/edge/listeners.ts";
import { expectSame } from "../../support/servers/parity.ts";
import { frame, open, openSession, type RawCall, send } from "../../support/servers/raw-grpc.ts";
import { toRefusal } from "../../support/servers/refusal.ts";

const path = `/${NotificationService.typeName}/WatchUnreadCounts`;
const messageOf = (ownerId: string) =>
  toBinary(
    WatchUnreadCountsRequestSchema,
    create(WatchUnreadCountsRequestSchema, { watches: [{ ownerId }] }),
  );
const answer = (ownerId: string) => ({ content: { case: "update" as const, value: { ownerId } } });

/** How many calls of "good" have begun. */
let begun = 0;

/** Set when the signal of a call of "waits" has aborted. */
let aborted = Promise.withResolvers<unknown>();

/** What the handler does, by the owner of the request. */
const behaviours: Record<string, (context: HandlerContext) => AsyncGenerator<unknown, void>> = {
  async *good() {
    begun += 1;
    for (const text of ["a", "b", "c"]) yield answer(text);
  },
  async *none() {},
  async *long() {
    yield answer("short");
    yield answer("x".repeat(5_000));
  },
  async *"too-long"() {
    yield answer("before");
    yield answer("x".repeat(5 * 2 ** 20));
  },
  async *headers({ requestHeader, responseHeader, responseTrailer }) {
    responseHeader.set("x-seen", [...requestHeader.keys()].sort().join());
    responseTrailer.set("x-trailer", "kept");
    yield answer("headers");
  },
  async *context({ method, service, protocolName, requestMethod, timeoutMs }) {
    yield answer([method.name, service.name, protocolName, requestMethod, timeoutMs()].join());
  },
  // biome-ignore lint/correctness/useYield: it fails before the first message
  async *error() {
    throw new Error("the table is gone");
  },
  async *"error-later"() {
    yield answer("before");
    throw new Error("the table is gone");
  },
  async *refusal({ responseTrailer }) {
    yield answer("before");
    responseTrailer.set("x-trailer", "kept");
    throw new ConnectError("巡り: 100 %\n", Code.DataLoss, { "x-metadata": "m" }, [
      { desc: ErrorInfoSchema, value: { reason: "R", domain: "d", metadata: { a: "b" } } },
    ]);
  },
  async *"no-message"() {
    yield { content: { case: "update", value: { unreadCount: { actorCount: "many" } } } };
  },
  async *waits({ signal }) {
    yield answer("waits");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    aborted.resolve(signal.reason);
    signal.throwIfAborted();
  },
};

const listeners = createListeners({
  corsOrigins: [],
  routes: (router) => {
    const watchUnreadCounts: ServiceImpl<typeof NotificationService>["watchUnreadCounts"] = (
      { watches },
      context,
    ) => behaviours[watches[0]?.ownerId ?? ""]?.(context) as AsyncGenerator<object>;
    const interceptors = publicInterceptors();
    const getUnreadCount = () => ({});
    router.service(NotificationService, { watchUnreadCounts, getUnreadCount }, { interceptors });
  },
});
let port: number;
let session: ClientHttp2Session;
beforeAll(async () => {
  ({ port } = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 }));
});
// Waits for open streams, so a test that leaves one behind ends here.
afterAll(() => listeners.drain(60_000));
beforeEach(async () => {
  session = await openSession(port);
  aborted = Promise.withResolvers();
});
afterEach(() => {
  session.destroy();
});

const askFor = (behaviour: string): Partial<RawCall> => ({
  chunks: [frame(messageOf(behaviour))],
});
const empty = Buffer.alloc(0);
const gzip: OutgoingHttpHeaders = { "grpc-accept-encoding": "identity, gzip" };

const calls: [what: string, status: string, call: Partial<RawCall>][] = [
  ["messages", "0", askFor("good")],
  ["no message", "0", askFor("none")],
  ["messages for a client that takes gzip", "0", { ...askFor("long"), headers: gzip }],
  ["no message for a client that takes gzip", "0", { ...askFor("none"), headers: gzip }],
  ["a message over the limit", "8", askFor("too-long")],
  ["headers", "0", { ...askFor("headers"), headers: { "x-own": ["a", "b"] } }],
  ["the context", "0", askFor("context")],
  ["an error before the first message", "13", askFor("error")],
  ["an error after the first message", "13", askFor("error-later")],
  ["a refusal with details", "15", askFor("refusal")],
  ["an answer that is no message", "13", askFor("no-message")],
  ["a deadline", "0", { ...askFor("good"), headers: { "grpc-timeout": "30S" } }],
  ["no deadline", "3", { ...askFor("good"), headers: { "grpc-timeout": "soon" } }],
  ["a request without a message", "12", {}],
  ["a request with two messages", "12", { chunks: [1, 2].map(() => frame(messageOf("good"))) }],
  ["a request that is too large", "3", { chunks: [frame(Buffer.alloc(70_000))] }],
  ["half a request", "3", { chunks: [frame(messageOf("good")).subarray(0, -2)] }],
];

describe("the answer is that of connect-node to", () => {
  test.each(calls)("%s", async (_, status, call) => {
    const found = await expectSame(session, { path, ...call });
    expect(found["grpc-status"]).toBe(status);
  });
});

const errorIn = (trailers: Record<string, unknown>) =>
  findTrailerError(new Headers(trailers as Record<string, string>));

test("bytes that are no request are an INVALID_REQUEST", async () => {
  const { trailers } = await send(session, { path, chunks: [frame(Buffer.from([0xff]))] });
  expect(toRefusal(errorIn(trailers))).toMatchObject({ reason: "INVALID_REQUEST" });
});

test("a stream ends at the deadline of its client", async () => {
  const headers = { "grpc-timeout": "200m" };
  const { trailers } = await send(session, { path, ...askFor("waits"), headers });
  expect(errorIn(trailers)).toMatchObject({ code: Code.DeadlineExceeded });
  expect(await aborted.promise).toMatchObject({ code: Code.DeadlineExceeded });
});

test.each([
  ["cancels", (stream: { close(code: number): void }) => stream.close(constants.NGHTTP2_CANCEL)],
  ["breaks off", () => session.destroy()],
])("a client that %s aborts the handler's signal", async (_, leave) => {
  const stream = open(session, { path, ...askFor("waits") });
  stream.on("error", () => {});
  await once(stream, "data");
  leave(stream);
  expect(await aborted.promise).toMatchObject({ code: Code.Canceled });
});

test("a stream whose request does not arrive ends after ten seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const answered = send(session, { path, chunks: [], unfinished: true });
    await new Promise((resolve) => session.ping(resolve));
    await vi.advanceTimersByTimeAsync(10_000);
    // The answer is sent before the ping's, and the stream closed a moment later.
    await new Promise((resolve) => session.ping(resolve));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(toRefusal(errorIn((await answered).trailers))).toMatchObject({ reason: "DEADLINE" });
  } finally {
    vi.useRealTimers();
  }
});

test("a call is answered before most streams of a burst of another connection begin", async () => {
  const other = await openSession(port);
  const before = begun;
  const burst = Array.from({ length: 600 }, () => open(other, { path, ...askFor("good") }));
  const closed = Promise.all(burst.map((stream) => once(stream.resume(), "close")));
  const unary = { path: `/${NotificationService.typeName}/GetUnreadCount`, chunks: [frame(empty)] };
  expect((await send(session, unary)).trailers["grpc-status"]).toBe("0");
  // 32 of them would begin in each turn of the event loop if they were like other calls.
  expect(begun - before).toBeLessThan(50);
  await closed;
  expect(begun - before).toBe(600);
  other.destroy();
});
