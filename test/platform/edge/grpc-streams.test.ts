/** Tests gRPC calls that end early, and what else the core HTTP/2 API leaves to the server. */
import { once } from "node:events";
import * as http from "node:http";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  GetBalanceRequestSchema,
  PointsService,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { socketKey } from "../../../src/platform/edge/context.ts";
import { createListeners, type Ports } from "../../../src/platform/edge/listeners.ts";
import { patience } from "../../support/fixtures/waiting.ts";
import { frame, open, openSession, send } from "../../support/servers/raw-grpc.ts";
import { toRefusal } from "../../support/servers/refusal.ts";

const path = `/${PointsService.typeName}/GetBalance`;
const upload = `/${PointsService.typeName}/GrantPoints`;
const message = frame(
  toBinary(GetBalanceRequestSchema, create(GetBalanceRequestSchema, { userId: "u" })),
);
const closed = (stream: { closed: boolean }) =>
  expect.poll(() => stream.closed, patience).toBe(true);

/** The handler of GetBalance; each test sets its own. */
let handler: (context: HandlerContext) => unknown;
let ports: Ports;
let session: ClientHttp2Session;
let listeners: ReturnType<typeof createListeners>;

beforeAll(async () => {
  listeners = createListeners({
    corsOrigins: [],
    routes: (router) => {
      router.service(PointsService, { getBalance: (_, context) => handler(context) as object });
    },
  });
  ports = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 });
});
// Waits for open streams, so a test that leaves one behind ends here.
afterAll(() => listeners.drain(60_000));
beforeEach(async () => {
  session = await openSession(ports.port);
});
afterEach(() => {
  session.destroy();
});

describe("an interrupted call", () => {
  /** A handler that waits until its signal aborts, and the reason of that. */
  function waitForAbort() {
    const started = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<unknown>();
    handler = ({ signal }) => {
      started.resolve();
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      return aborted.promise.then(() => ({}));
    };
    return { started: started.promise, aborted: aborted.promise };
  }

  test("that the client cancels aborts the handler's signal", async () => {
    const { started, aborted } = waitForAbort();
    const stream = open(session, { path, chunks: [message] });
    stream.on("error", () => {});
    await started;
    stream.close(constants.NGHTTP2_CANCEL);
    expect(await aborted).toMatchObject({ code: Code.Canceled });
  });

  test("whose connection breaks aborts the handler's signal", async () => {
    const { started, aborted } = waitForAbort();
    open(session, { path, chunks: [message] }).on("error", () => {});
    await started;
    session.destroy();
    expect(await aborted).toMatchObject({ code: Code.Canceled });
  });

  test("that breaks off in its request does not reach the handler", async () => {
    let calls = 0;
    handler = () => {
      calls += 1;
      return {};
    };
    for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_INTERNAL_ERROR]) {
      const stream = open(session, { path, chunks: [message.subarray(0, 6)], unfinished: true });
      stream.on("error", () => {});
      // The server reads in order, so it has read the message's beginning.
      await new Promise((resolve) => session.ping(resolve));
      stream.close(code);
      await closed(stream);
    }
    // The session still serves.
    expect((await send(session, { path, chunks: [message] })).trailers["grpc-status"]).toBe("0");
    expect(calls).toBe(1);
  });

  test.each([
    ["nothing", []],
    ["a part", [message.subarray(0, 6)]],
  ])("of which %s arrives ends at its deadline", async (_, chunks) => {
    const headers = { "grpc-timeout": "50m" };
    const { trailers } = await send(session, { path, headers, chunks, unfinished: true });
    const error = findTrailerError(new Headers(trailers as Record<string, string>));
    expect(toRefusal(error)).toMatchObject({ code: "DeadlineExceeded", reason: "DEADLINE" });
  });

  test.each([
    ["without a deadline", {}],
    ["with a deadline of an hour", { "grpc-timeout": "1H" }],
  ])("%s, whose request does not arrive, ends after ten seconds", async (_, headers) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const chunks = [message.subarray(0, 6)];
      const answer = send(session, { path, headers, chunks, unfinished: true });
      await new Promise((resolve) => session.ping(resolve));
      expect(vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(10_000);
      // The answer is sent before the ping's, and the stream closed a moment later.
      await new Promise((resolve) => session.ping(resolve));
      await vi.advanceTimersByTimeAsync(1_000);
      const { trailers } = await answer;
      const error = findTrailerError(new Headers(trailers as Record<string, string>));
      expect(toRefusal(error)).toMatchObject({ code: "DeadlineExceeded", reason: "DEADLINE" });
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([
    ["too large", { chunks: [frame(Buffer.alloc(9), 0, 70_000)] }],
    ["in an unknown compression", { headers: { "grpc-encoding": "zip" } }],
  ])("that is %s is answered and closed while its client still sends", async (_, call) => {
    const answer = await send(session, { path: upload, ...call, unfinished: true });
    expect(answer.trailers["grpc-status"]).toMatch(/^(3|12)$/);
    expect(answer.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("whose answer is not taken is closed at its deadline", async () => {
    handler = () => ({ balance: { nextExpiring: { month: "x".repeat(200_000) } } });
    const slow = connect(`http://127.0.0.1:${ports.port}`, {
      settings: { initialWindowSize: 1_000 },
    });
    const stream = open(slow, { path, chunks: [message], headers: { "grpc-timeout": "500m" } });
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(200);
    // Nobody reads the stream, so that its window stays closed.
    await closed(stream);
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    slow.destroy();
  });

  test.each([
    ["over gRPC-Web", { headers: { "content-type": "application/grpc-web" }, chunks: [message] }],
    [
      "over Connect",
      { headers: { "content-type": "application/proto" }, chunks: [message.subarray(5)] },
    ],
    ["by HEAD", { headers: { ":method": "HEAD" }, unfinished: true }],
  ])("%s that its client keeps open is closed after its time", async (_, call) => {
    handler = () => ({ balance: { nextExpiring: { month: "x".repeat(200_000) } } });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const slow = connect(`http://127.0.0.1:${ports.port}`, {
      settings: { initialWindowSize: 1_000 },
    });
    try {
      const stream = open(slow, { path, ...call });
      await once(stream, "response");
      await vi.advanceTimersByTimeAsync(29_999);
      await new Promise((resolve) => slow.ping(resolve));
      expect(stream.closed).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await once(stream, "close");
      expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    } finally {
      vi.useRealTimers();
      slow.destroy();
    }
  });

  test("whose error cannot be written is reset", async () => {
    handler = () => {
      // Half of a surrogate pair has no percent-encoding.
      throw new ConnectError("\ud800");
    };
    const { rstCode } = await send(session, { path, chunks: [message] });
    expect(rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });
});

describe("a service or method that does not exist is UNIMPLEMENTED", () => {
  const unknown = [`/${PointsService.typeName}/Nothing`, "/no.Service/GetBalance", "/", "//"];

  test.each(unknown)("in one frame: %s", async (name) => {
    for (const type of ["application/grpc", "application/grpc+json", "application/grpc+proto"]) {
      for (const unfinished of [false, true]) {
        const headers = { "content-type": type };
        const answer = await send(session, { path: name, headers, chunks: [message], unfinished });
        expect(answer).toMatchObject({ trailersOnly: true, body: "", trailers: {} });
        expect(answer.headers).toMatchObject({ ":status": 200, "grpc-status": "12" });
        expect(answer.headers["content-type"]).toMatch(/^application\/grpc/);
      }
    }
  });

  test("for grpc-js", async () => {
    const address = `127.0.0.1:${ports.port}`;
    const client = new grpc.Client(address, grpc.credentials.createInsecure());
    const bytes = (value: Buffer) => value;
    const codes = unknown.slice(0, 2).map(
      (name) =>
        new Promise((resolve) => {
          client.makeUnaryRequest(name, bytes, bytes, Buffer.alloc(0), (error) =>
            resolve(error?.code),
          );
        }),
    );
    expect(await Promise.all(codes)).toEqual([
      grpc.status.UNIMPLEMENTED,
      grpc.status.UNIMPLEMENTED,
    ]);
    client.close();
  });

  const elsewhere: Interceptor = (next) => (req) =>
    next({ ...req, url: req.url.replace("GetBalance", "Nothing") });

  test.each([
    ["gRPC", "2", createGrpcTransport],
    ["gRPC-Web", "1.1", createGrpcWebTransport],
    ["gRPC-Web", "2", createGrpcWebTransport],
    ["Connect", "1.1", createConnectTransport],
    ["Connect", "2", createConnectTransport],
  ] as const)("for %s over HTTP/%s", async (_, httpVersion, createTransport) => {
    const port = httpVersion === "2" ? ports.port : ports.http1Port;
    const baseUrl = `http://127.0.0.1:${port}`;
    const transport = createTransport({ baseUrl, httpVersion, interceptors: [elsewhere] } as never);
    const call = createClient(PointsService, transport).getBalance({ userId: "u" });
    await expect(call).rejects.toMatchObject({ code: Code.Unimplemented });
  });
});

/** A call of GetBalance over Connect and HTTP/1.1. */
async function post(host?: string): Promise<{ status: number | undefined; localPort: unknown }> {
  const request = http.request({
    port: ports.http1Port,
    path,
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", ...(host && { host }) },
  });
  request.end("{}");
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const { localPort } = response.socket;
  response.resume();
  await once(response, "end");
  return { status: response.statusCode, localPort };
}

test("a handler gets the connection of its call, however it is served", async () => {
  const remotePorts: unknown[] = [];
  handler = ({ values }) => {
    remotePorts.push(values.get(socketKey)?.remotePort);
    return {};
  };
  for (const each of [path, `${path}?`]) await send(session, { path: each, chunks: [message] });
  const { status, localPort } = await post();
  expect(status).toBe(200);
  const ofSession = (session.socket as Socket).localPort;
  expect(remotePorts).toEqual([ofSession, ofSession, localPort]);
});

test("a host that is no host is refused, and the server goes on", async () => {
  handler = () => ({});
  for (const host of ["[", "%"]) {
    expect((await post(host)).status).toBe(400);
    const headers = { ":authority": host, "content-type": "application/json" };
    const { headers: answer } = await send(session, { path, headers, chunks: [Buffer.from("{}")] });
    expect(answer[":status"]).toBe(400);
  }
  expect((await post()).status).toBe(200);
});
