/** Tests the server as a process: it starts without Temporal and drains without losing a call. */
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { ErrorInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { HealthCheckResponse_ServingStatus } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import * as watching from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import type { Child } from "../../../tools/dev/stack/child.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { startService } from "../../../tools/dev/stack/service.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { patience } from "../../support/fixtures/waiting.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

/** Owns the tables; the server under test is a process of its own. */
let tables: TestServer;
let proxy: DynamoProxy;
let child: Child;
let ports: { port: number; http1Port: number };

beforeAll(async () => {
  tables = await startServer({ testClock: false, dynamoEndpoint: inject("dynamodbEndpoint") });
  proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
});
afterAll(async () => {
  await child.stop();
  await proxy.stop();
  await tables.stop();
});

/** Starts the process with a Temporal address that no server listens on. */
async function start(): Promise<void> {
  const [port, http1Port, temporalPort] = await findPorts(0, 0, 0);
  ports = { port, http1Port };
  child = await startService({
    name: "server",
    entry: "src/server.ts",
    env: {
      MEGURI_PORT: String(port),
      MEGURI_HTTP1_PORT: String(http1Port),
      MEGURI_OPERATORS_PORT: "0",
      MEGURI_DYNAMODB_ENDPOINT: proxy.endpoint,
      MEGURI_TABLE_PREFIX: tables.config.tablePrefix,
      MEGURI_TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
      MEGURI_DRAIN_SECONDS: "8",
    },
  });
}

const named: Interceptor = (next) => (req) => {
  req.header.set("meguri-caller", "tests");
  return next(req);
};

/** The code of a refused connection; empty when it is accepted. */
async function refused(session: ClientHttp2Session): Promise<string> {
  try {
    await once(session, "connect");
    session.destroy();
    return "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

test("calls under way are answered, new ones are refused, the process exits with 0", async () => {
  await start();
  const baseUrl = `http://127.0.0.1:${ports.port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const grpc = createClient(
    PointsService,
    createGrpcTransport({ baseUrl, sessionManager, interceptors: [named] }),
  );
  const http1 = createClient(
    PointsService,
    createConnectTransport({
      baseUrl: `http://127.0.0.1:${ports.http1Port}`,
      httpVersion: "1.1",
      interceptors: [named],
    }),
  );
  const notifications = createClient(
    watching.NotificationService,
    createGrpcTransport({ baseUrl, sessionManager, interceptors: [named] }),
  );
  const events: (string | undefined)[] = [];
  const watched = (async () => {
    for await (const { content } of notifications.watchUnreadCounts({
      watches: [{ ownerId: "o" }],
    })) {
      events.push(content.case);
      if (content.case === "end") return content.value.cause;
    }
    return undefined;
  })();
  await expect.poll(() => events, patience).toEqual(["update"]);
  await grpc.grantPoints({ userId: "u", eventId: "warm", points: 1n });
  await http1.getBalance({ userId: "u" });

  proxy.faults({ delay: 1, delayMs: [2_000, 2_000], operations: "writes" });
  const answers = Promise.all([
    grpc.grantPoints({ userId: "a", eventId: "e", points: 5n }),
    http1.grantPoints({ userId: "b", eventId: "e", points: 7n }),
  ]);
  await expect.poll(() => proxy.stats().faults.delay, patience).toBe(2);
  process.kill(child.pid, "SIGTERM");
  await expect.poll(() => child.lastOutput(), patience).toContain("draining");
  expect(await watched).toBe(watching.WatchUnreadCountsResponse_End_Cause.DRAINING);
  await expect.poll(() => refused(connect(baseUrl)), patience).toBe("ECONNREFUSED");
  await expect(grpc.getBalance({ userId: "u" })).rejects.toThrow();
  expect((await answers).map(({ availablePoints: balance }) => balance)).toEqual([5n, 7n]);
  expect(await child.exited).toBe("exit code 0");
  sessionManager.abort();
  expect((await tables.points.getBalance({ userId: "a" })).balance?.availablePoints).toBe(5n);
});

test("a call that does not end in time is aborted", async () => {
  const stuck = await startServer({
    tablePrefix: tables.config.tablePrefix,
    dynamoEndpoint: proxy.endpoint,
    testClock: false,
    env: { MEGURI_DRAIN_SECONDS: "0.3" },
  });
  await stuck.points.getBalance({ userId: "u" });
  // Longer than any test takes, so that nothing but the limit can end the call.
  proxy.faults({ delay: 1, delayMs: [600_000, 600_000] });
  const call = stuck.points.getBalance({ userId: "u" });
  const error = call.catch((error: unknown) => error);
  await expect.poll(() => proxy.stats().faults.delay, patience).toBeGreaterThan(0);
  await stuck.server.drain();
  // There are no details, because the connection broke before the server answered.
  expect(await error).toBeInstanceOf(ConnectError);
  expect(((await error) as ConnectError).findDetails(ErrorInfoSchema)).toEqual([]);
  proxy.faults({});
  await stuck.stop();
});

test("the health check reports the drain, while calls are still served", async () => {
  const draining = await startServer({
    tablePrefix: tables.config.tablePrefix,
    testClock: false,
    // A tenth of it is the time of the calls below, for which a busy machine takes seconds.
    env: { MEGURI_DRAIN_SECONDS: "80" },
  });
  const { health, points, server } = draining;
  const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;
  const status = async (service: string) => (await health.check({ service })).status;
  expect(await status("")).toBe(SERVING);
  const drained = server.drain();
  for (const service of ["", PointsService.typeName]) {
    expect(await status(service)).toBe(NOT_SERVING);
  }
  expect((await points.getBalance({ userId: "u" })).balance).toBeDefined();
  await drained;
  await expect(points.getBalance({ userId: "u" })).rejects.toThrow();
  await draining.stop();
});
