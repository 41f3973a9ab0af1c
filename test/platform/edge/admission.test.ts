/** Tests that calls are let in by their headers, before their bodies are read. */
import { once } from "node:events";
import * as http from "node:http";
import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import {
  Code,
  type ConnectRouter,
  createConnectRouter,
  createContextValues,
  createHandlerContext,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { authenticateByHeader } from "../../../src/platform/auth/header.ts";
import { admitCallers } from "../../../src/platform/edge/admission.ts";
import { createListeners, type Ports } from "../../../src/platform/edge/listeners.ts";
import { refuseMalformed } from "../../../src/platform/edge/malformed.ts";
import type { Authenticate, Identity } from "../../../src/platform/ports/identity.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { assertSeeds } from "../../support/models/seeded.ts";
import { frame, open, openSession, send } from "../../support/servers/raw-grpc.ts";

/** Whoever is called "scopeless" has no scope. */
const authenticate: Authenticate = (credentials) => {
  const identity = authenticateByHeader(credentials) as Identity;
  return identity.caller.service === "scopeless" ? { ...identity, scopes: new Set() } : identity;
};

/** The routes of all services, without any handler. */
const routes = (router: ConnectRouter) => {
  const requestGate = admitCallers({ authenticate });
  for (const service of services) router.service(service, {}, { requestGate });
};

const methods = services.flatMap((service) => service.methods);
const pathOf = (method: (typeof methods)[number]) => `/${method.parent.typeName}/${method.name}`;

/** A call that is refused, and how gRPC and Connect say so. */
const refused = fc.constantFrom(
  { headers: {}, grpc: "16", http: 401, code: "unauthenticated" },
  { headers: { "meguri-caller": "scopeless" }, grpc: "7", http: 403, code: "permission_denied" },
);

type Refused = typeof refused extends fc.Arbitrary<infer R> ? R : never;

const unaryTypes = ["application/json", "application/proto"];
const streamTypes = ["application/connect+json", "application/connect+proto"];
const envelopedTypes = [
  "application/grpc",
  "application/grpc+proto",
  "application/grpc+json",
  "application/grpc-web",
  "application/grpc-web+json",
];

/** A method with a content type that it takes. */
const typed = fc.constantFrom(...methods).chain((method) => {
  const own = method.methodKind === "unary" ? unaryTypes : streamTypes;
  const type = fc.constantFrom(...envelopedTypes, ...own);
  return fc.record({ method: fc.constant(method), type });
});

const calls = fc.record({
  typed,
  refused,
  // Most of them announce a message of more than a gigabyte.
  body: fc.uint8Array({ minLength: 1, maxLength: 2_000 }),
  encoding: fc.constantFrom({}, { "grpc-encoding": "gzip" }, { "content-encoding": "gzip" }),
});

type Call = typeof calls extends fc.Arbitrary<infer C> ? C : never;

describe("no body of a refused call is read", () => {
  test("by Connect's handlers, in any protocol", async () => {
    const router = createConnectRouter();
    refuseMalformed(routes)(router);
    const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
    const property = fc.asyncProperty(calls, async ({ typed, refused, encoding }) => {
      const path = pathOf(typed.method);
      const body = { [Symbol.asyncIterator]: () => expect.fail("the body is read") };
      const answer = await (handlers.get(path) as UniversalHandler)({
        httpVersion: "2",
        method: "POST",
        url: `http://localhost${path}`,
        header: new Headers({ ...refused.headers, ...encoding, "content-type": typed.type }),
        body: body as never,
        signal: new AbortController().signal,
        contextValues: createContextValues(),
      });
      const chunks: Uint8Array[] = [];
      for await (const chunk of answer.body ?? []) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const status = answer.trailer?.get("grpc-status") ?? "";
      expectRefusal(refused, answer.status, `${text} grpc-status: ${status}`);
    });
    await assertSeeds(property, [{ seed: 1, numRuns: 300 }]);
  });

  let listeners: ReturnType<typeof createListeners>;
  let ports: Ports;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    listeners = createListeners({ corsOrigins: [], routes });
    ports = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 });
    session = await openSession(ports.port);
  });
  afterAll(async () => {
    session.destroy();
    await listeners.drain(60_000);
  });

  test("on the port of HTTP/2: it is answered while its client sends, and closed", async () => {
    const expectRefused = async ({ typed, refused, body, encoding }: Call) => {
      const answer = await send(session, {
        path: pathOf(typed.method),
        headers: { ...refused.headers, ...encoding, "content-type": typed.type },
        chunks: [Buffer.from(body)],
        unfinished: true,
      });
      const text = Buffer.from(answer.body, "base64").toString();
      const status = answer.trailers["grpc-status"] ?? answer.headers["grpc-status"];
      expectRefusal(refused, answer.headers[":status"], `${text} grpc-status: ${status}`);
      expect(answer.rstCode).toBe(0);
    };
    // Many at a time, because the server waits a little before it closes a stream.
    const many = fc.array(calls, { minLength: 50, maxLength: 50 });
    const property = fc.asyncProperty(many, async (each) => {
      await Promise.all(each.map(expectRefused));
    });
    await assertSeeds(property, [{ seed: 2, numRuns: 3 }]);
  });

  // Node's client loses the connection after 10 MB that it could not send.
  test("on the port of HTTP/2: a connection of Node serves on after many of them", async () => {
    const path = pathOf(PointsService.method.getBalance);
    const chunks = [frame(Buffer.alloc(60_000))];
    for (let i = 0; i < 20; i++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => send(session, { path, chunks })),
      );
      expect(new Set(answers.map(({ trailers }) => trailers["grpc-status"]))).toEqual(
        new Set(["16"]),
      );
    }
  });

  test("on the port of HTTP/1.1: it is answered while its client sends", async () => {
    const property = fc.asyncProperty(calls, async ({ typed, refused, body, encoding }) => {
      const request = http.request({
        port: ports.http1Port,
        path: pathOf(typed.method),
        method: "POST",
        agent: false,
        headers: { ...refused.headers, ...encoding, "content-type": typed.type },
      });
      // The server closes a connection on which more of the body could come.
      request.on("error", () => {});
      request.write(body);
      const [answer] = (await once(request, "response")) as [http.IncomingMessage];
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk);
      const status = answer.headers["grpc-status"] ?? answer.trailers["grpc-status"];
      const text = `${Buffer.concat(chunks)} grpc-status: ${status}`;
      request.destroy();
      expectRefusal(refused, answer.statusCode, text);
    });
    await assertSeeds(property, [{ seed: 3, numRuns: 100 }]);
  });

  test("of a GET of Connect, whose message is in its URL", async () => {
    const path =
      "/meguri.points.v1.PointsService/GetBalance?connect=v1&encoding=json&message=nonsense";
    const answer = await fetch(`http://127.0.0.1:${ports.http1Port}${path}`);
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining("caller")]);
  });
});

test("a call that is refused for its scope counts against the rate of its service", async () => {
  const gate = admitCallers({ authenticate, callsPerSecond: 1 });
  const method = PointsService.method.getBalance;
  const call = () =>
    gate(
      createHandlerContext({
        service: PointsService,
        method,
        protocolName: "grpc",
        requestMethod: "POST",
        url: `http://localhost${pathOf(method)}`,
        requestHeader: { "meguri-caller": "scopeless" },
      }),
    );
  await expect(call()).rejects.toMatchObject({ code: Code.PermissionDenied });
  await expect(call()).rejects.toMatchObject({ code: Code.ResourceExhausted });
});

describe("an admitted call", () => {
  const upload = `/${BulkGrantService.typeName}/UploadBulkGrant`;
  const balance = `/${PointsService.typeName}/GetBalance`;
  const shop = { "meguri-caller": "shop" };
  let listeners: ReturnType<typeof createListeners>;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    const byteLimits = { ofConnection: 2_000, ofService: 1_000, ofServer: 4_000 };
    const requestGate = admitCallers({ authenticate, maxSheets: 4, byteLimits });
    listeners = createListeners({
      corsOrigins: [],
      routes: (router) => {
        router.service(PointsService, { getBalance: () => ({}) }, { requestGate });
        router.service(BulkGrantService, { uploadBulkGrant }, { requestGate });
      },
    });
    const ports = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 });
    session = await openSession(ports.port);
  });
  afterAll(async () => {
    session.destroy();
    await listeners.drain(60_000);
  });

  /** Reads the whole upload. */
  async function uploadBulkGrant(requests: AsyncIterable<unknown>) {
    for await (const _ of requests);
    return {};
  }

  /** The gRPC status and the reason of a whole call. */
  async function callAs(headers: object, path = balance, chunks = [frame(Buffer.alloc(0))]) {
    const { trailers } = await send(session, { path, headers: { ...headers }, chunks });
    const details = Buffer.from(String(trailers["grpc-status-details-bin"] ?? ""), "base64");
    const [reason] = /[A-Z]+_?[A-Z_]+/.exec(details.toString("latin1")) ?? ["OK"];
    return [trailers["grpc-status"], reason];
  }

  /** Begins a call whose request never ends, and waits until the server has read what was sent. */
  async function begin(path: string, chunk: Buffer, headers: OutgoingHttpHeaders = shop) {
    const stream = open(session, { path, headers, chunks: [chunk], unfinished: true });
    stream.on("error", () => {});
    await new Promise((resolve) => session.ping(resolve));
    return stream;
  }

  const ofType = (type: string) => ({ ...shop, "content-type": type });

  test.each([
    ["gRPC", ofType("application/grpc")],
    ["gRPC-Web", ofType("application/grpc-web")],
    ["Connect", ofType("application/proto")],
  ])("over %s is refused while its service holds too many bytes", async (_, headers) => {
    const held = await begin(balance, frame(Buffer.alloc(900), 0, 2_000), headers);
    const large = [frame(Buffer.from([0x12, 100, ...Buffer.alloc(100, 97)]))];
    await expect.poll(() => callAs(shop, balance, large)).toEqual(["8", "OVERLOADED"]);
    expect(await callAs({ "meguri-caller": "other" }, balance, large)).toEqual(["0", "OK"]);
    held.close();
    await expect.poll(() => callAs(shop, balance, large)).toEqual(["0", "OK"]);
  });

  test("with a sheet is refused while its service has half of the places", async () => {
    const uploads = [await begin(upload, Buffer.alloc(1)), await begin(upload, Buffer.alloc(1))];
    expect(await callAs(shop, upload)).toEqual(["8", "OVERLOADED"]);
    const sheet = `/${BulkGrantService.typeName}/CheckSheet`;
    expect(await callAs(shop, sheet)).toEqual(["8", "OVERLOADED"]);
    // Without a handler: it was let in. A place is free again when the call has ended.
    for (let i = 0; i < 3; i++) {
      expect(await callAs({ "meguri-caller": "other" }, sheet)).toEqual(["12", "OK"]);
    }
    for (const stream of uploads) stream.close();
    await expect.poll(() => callAs(shop, sheet)).toEqual(["12", "OK"]);
  });
});

/** Expects Connect's status and code, or gRPC's status in whatever place it has. */
function expectRefusal(refused: Refused, status: unknown, text: string): void {
  if (status !== 200) expect(status).toBe(refused.http);
  const pattern = status === 200 ? `grpc-status: ?${refused.grpc}|"${refused.code}"` : refused.code;
  expect(text).toMatch(new RegExp(pattern));
}
