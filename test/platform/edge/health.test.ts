/** Tests grpc.health.v1.Health and the probes of the operators' port through a server's life. */
import { once } from "node:events";
import { createServer as createTcpServer } from "node:net";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus,
} from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ClockService } from "../../../src/gen/meguri/testing/v1/clock_service_pb.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { createServer } from "../../../src/server.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { patience } from "../../support/fixtures/waiting.ts";
import { readPage } from "../../support/servers/operators.ts";
import { toRefusal } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;
type Status = HealthCheckResponse_ServingStatus;

let proxy: DynamoProxy;
let server: TestServer;
beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
  server = await startServer({
    testClock: false,
    dynamoEndpoint: proxy.endpoint,
  });
});
afterAll(async () => {
  await server.stop();
  await proxy.stop();
});

const served = services.filter((service) => service !== ClockService);

describe("a server that serves", () => {
  test("says so of itself and of each service, without a caller", async () => {
    const { health } = server.clientsOf(undefined);
    const names = ["", ...served.map(({ typeName }) => typeName)];
    for (const service of names) expect((await health.check({ service })).status).toBe(SERVING);
    const { statuses } = await health.list({});
    expect(Object.keys(statuses).sort()).toEqual(names.sort());
    expect(Object.values(statuses).every(({ status }) => status === SERVING)).toBe(true);
  });

  test("does not find an unknown service", async () => {
    const error = await server.health
      .check({ service: "other.v1.Service" })
      .catch(ConnectError.from);
    expect((error as ConnectError).code).toBe(Code.NotFound);
  });

  test("is alive and ready", async () => {
    const { operatorsPort } = server;
    expect(await readPage(operatorsPort, "/livez")).toEqual({ status: 200, text: "alive\n" });
    const head = await fetch(`http://127.0.0.1:${operatorsPort}/livez`, { method: "HEAD" });
    expect(head.status).toBe(200);
    const ready = { status: 200, text: "server: ok\nstore: ok\nclock: ok\n" };
    expect(await readPage(operatorsPort, "/readyz?verbose")).toEqual(ready);
    expect((await readPage(operatorsPort, "/")).status).toBe(404);
    expect((await readPage(operatorsPort, "/readyz", "POST")).status).toBe(404);
  });
});

test("the metrics of a server count what its store throttles, by table", async () => {
  const targetName = { type: "post", id: "throttled" };
  await server.reactions.registerTarget({ targetName, ownerId: "o" });
  const throttles = async () => {
    const { text } = await readPage(server.operatorsPort, "/metrics");
    const lines = text.split("\n").filter((line) => line.startsWith("meguri_store_throttles"));
    return lines.map((line) => line.replace(/ \d+$/, " n"));
  };
  expect(await throttles()).toEqual([]);
  proxy.faults({ throttle: 1, operations: ["BatchGetItem"] });
  const reading = server.reactions.batchGetReactionSummaries({ targetNames: [targetName, other] });
  await expect
    .poll(throttles)
    .toEqual([`meguri_store_throttles_total{table="${server.table("reactions")}"} n`]);
  proxy.faults({});
  await reading.catch(() => undefined);
});

/** A second target, so that a batch is read. */
const other = { type: "post", id: "other" };

describe("a server whose store or clock is not well serves, but is not ready", () => {
  const overall = async () => (await server.health.check({})).status;
  const readiness = () => readPage(server.operatorsPort, "/readyz");
  const isReadyAgain = () =>
    expect.poll(async () => (await readiness()).status, patience).toBe(200);

  test("with a store that is away", async () => {
    proxy.down(true);
    const { status, text } = await readiness();
    expect(status).toBe(503);
    expect(text).toMatch(/^server: ok\nstore: (STORE_UNAVAILABLE: .*|no answer .*)\nclock: ok\n$/);
    expect(await overall()).toBe(SERVING);
    expect((await readPage(server.operatorsPort, "/livez")).status).toBe(200);
    proxy.down(false);
    await isReadyAgain();
  });

  test("with a store that hangs", async () => {
    // Longer than any test takes.
    proxy.faults({ delay: 1, delayMs: [600_000, 600_000] });
    const { status, text } = await readiness();
    expect(status).toBe(503);
    expect(text).toBe("server: ok\nstore: no answer within 900 ms\nclock: ok\n");
    expect(await overall()).toBe(SERVING);
    proxy.faults({});
    await isReadyAgain();
  });

  test("with a store that refuses writes, which calls and metrics say too", async () => {
    proxy.refuse("AccessDeniedException", ["TransactWriteItems"]);
    const granting = server.points.grantPoints({ userId: "u", eventId: "refused", points: 1n });
    const refusal = toRefusal(await granting.catch((error: unknown) => error));
    const table = expect.stringMatching(/^(accounts|points)(, (accounts|points))*$/);
    expect(refusal).toMatchObject({
      code: "Unavailable",
      reason: "STORE_REFUSES",
      metadata: { code: "AccessDeniedException", operation: "TransactWriteItems", table },
    });
    const { status, text } = await readiness();
    expect(status).toBe(503);
    expect(text).toMatch(
      /^store: STORE_REFUSES: the store refuses TransactWriteItems on .*: AccessDeniedException$/m,
    );
    expect(text).not.toContain(server.table("points"));
    const labels = `operation="TransactWriteItems",table="${server.table("points")}"`;
    expect((await readPage(server.operatorsPort, "/metrics")).text).toContain(
      `meguri_store_refusals_total{${labels},code="AccessDeniedException"}`,
    );
    expect(await overall()).toBe(SERVING);
    proxy.refuse(undefined);
    await server.points.grantPoints({ userId: "u", eventId: "refused", points: 1n });
    await isReadyAgain();
  });

  test("with a clock that differs from the store's", async () => {
    proxy.dateSkew(60_000);
    // One answer alone does not move the clock.
    expect((await readiness()).status).toBe(200);
    const { status, text } = await readiness();
    expect(status).toBe(503);
    expect(text).toMatch(/^server: ok\nstore: ok\nclock: CLOCK_OFF: .*, skew_ms -[56]\d{4}\n$/);
    expect(await overall()).toBe(SERVING);
    proxy.dateSkew(undefined);
    await isReadyAgain();
  });
});

/** Collects the statuses of a Watch until it ends. */
function watch(health: TestServer["health"], service: string) {
  const statuses: Status[] = [];
  const cancel = new AbortController();
  const answered = Promise.withResolvers<void>();
  const ended = (async () => {
    for await (const { status } of health.watch({ service }, cancel)) {
      statuses.push(status);
      answered.resolve();
    }
  })()
    .catch((error: unknown) => error)
    .finally(answered.resolve);
  return { statuses, answered: answered.promise, ended, cancel: () => cancel.abort() };
}

/** The messages of an upload that sends nothing. */
async function* endless(): AsyncGenerator<never, void> {
  await new Promise(() => {});
}

describe("a Watch", () => {
  /** On one connection. */
  const maxStreams = 16;
  /** Has the tables of the other one. */
  const startAnother = () =>
    startServer({
      testClock: false,
      tablePrefix: server.config.tablePrefix,
      env: { MEGURI_DRAIN_SECONDS: "10" },
    });

  test("is refused above the limit of its connection, without the cancelled ones", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const limited = await startAnother();
    const { health } = limited;
    /** The answers to so many streams at a time, all of which are then cancelled. */
    const answersTo = async (count: number) => {
      const open = Array.from({ length: count }, () => watch(health, ""));
      await Promise.all(open.map(({ answered }) => answered));
      for (const { cancel } of open) cancel();
      const errors = await Promise.all(open.map(({ ended }) => ended));
      return open.map(({ statuses: [status] }, i) => status ?? toRefusal(errors[i]).reason);
    };
    const accepted = Array.from({ length: maxStreams }, () => SERVING);
    const answers = await answersTo(maxStreams + 1);
    expect(answers.toSorted()).toEqual([...accepted, "TOO_MANY_STREAMS"]);
    await expect.poll(() => answersTo(maxStreams), patience).toEqual(accepted);

    const greedy = Array.from({ length: maxStreams }, () => watch(health, ""));
    await Promise.all(greedy.map(({ answered }) => answered));
    const baseUrl = `http://127.0.0.1:${limited.port}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    const other = createClient(Health, createGrpcTransport({ baseUrl, sessionManager }));
    const { statuses, answered, cancel, ended } = watch(other, "");
    await answered;
    expect(statuses).toEqual([SERVING]);
    for (const one of [...greedy, { cancel }]) one.cancel();
    await Promise.all([...greedy, { ended }].map((one) => one.ended));
    sessionManager.abort();
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
    await limited.stop();
  });

  test("sends a status at once, each change, and ends when the server closes", async () => {
    const draining = await startAnother();
    const { operatorsPort, bulkGrants } = draining;
    // A call under way, which the drain waits for.
    const upload = new AbortController();
    const uploaded = bulkGrants.uploadBulkGrant(endless(), upload).catch(() => undefined);
    const { health } = draining.clientsOf(undefined);
    const all = watch(health, "");
    const points = watch(health, PointsService.typeName);
    const unknown = watch(health, "other.v1.Service");
    await expect
      .poll(() => [all.statuses, points.statuses, unknown.statuses], patience)
      .toEqual([[SERVING], [SERVING], [SERVICE_UNKNOWN]]);

    const drained = draining.server.drain();
    await expect
      .poll(() => [all.statuses, points.statuses], patience)
      .toEqual([
        [SERVING, NOT_SERVING],
        [SERVING, NOT_SERVING],
      ]);
    for (const { ended } of [all, points, unknown]) {
      expect(toRefusal(await ended)).toMatchObject({ reason: "DRAINING", retries: true });
    }
    expect(unknown.statuses).toEqual([SERVICE_UNKNOWN]);
    const { status, text } = await readPage(operatorsPort, "/readyz");
    expect([status, text]).toEqual([503, "server: draining\nstore: ok\nclock: ok\n"]);
    expect((await readPage(operatorsPort, "/livez")).status).toBe(200);
    upload.abort();
    await Promise.all([drained, uploaded]);
    await expect(readPage(operatorsPort, "/livez")).rejects.toThrow();
    await draining.stop();
  });
});

test("a server that starts is alive, but neither ready nor serving", async () => {
  const [port, http1Port, operatorsPort] = await findPorts(0, 0, 0);
  // The start cannot end while its second port is taken.
  const blocker = createTcpServer().listen(http1Port, "127.0.0.1");
  await once(blocker, "listening");
  const { deps } = memoryDeps();
  const listen = { host: "127.0.0.1", port, http1Port, operatorsPort } as const;
  const limits = { callsPerSecond: undefined, corsOrigins: [] };
  const config = { ...listen, ...limits, drainSeconds: 1, testClock: false };
  const starting = createServer({ deps, config, log: createLogger("test", "silent") });
  await expect(starting.listen()).rejects.toThrow("EADDRINUSE");

  const baseUrl = `http://127.0.0.1:${port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const health = createClient(Health, createGrpcTransport({ baseUrl, sessionManager }));
  expect((await health.check({})).status).toBe(NOT_SERVING);
  expect((await readPage(operatorsPort, "/livez")).status).toBe(200);
  const { status, text } = await readPage(operatorsPort, "/readyz");
  expect([status, text]).toEqual([503, "server: starting\nstore: ok\nclock: ok\n"]);
  sessionManager.abort();
  await starting.drain();
  blocker.close();
});
