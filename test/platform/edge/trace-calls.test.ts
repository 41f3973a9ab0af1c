/** Traces of calls, as a collector on loopback gets them from the real SDK and exporter. */
import { randomUUID } from "node:crypto";
import { propagation } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { pino } from "pino";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { createMeguri } from "../../../packages/client/src/index.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { startTracing } from "../../../src/platform/observe/tracing.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { patience } from "../../support/fixtures/waiting.ts";
import {
  type Collector,
  type ReceivedSpan,
  startCollector,
} from "../../support/servers/collector.ts";
import { openSession, send } from "../../support/servers/raw-grpc.ts";
import { at } from "../../support/servers/refusal.ts";
import { startMemoryServer, startServer, type TestServer } from "../../support/servers/server.ts";

let collector: Collector;
let server: TestServer;
let stopTracing: () => Promise<void>;
beforeAll(async () => {
  collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: "10" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  server = await startServer({ env, dynamoEndpoint: inject("dynamodbEndpoint") });
  stopTracing = await startTracing(server.config, "tests", createLogger("test", "silent"));
});
afterAll(async () => {
  await server.stop();
  await stopTracing();
  await collector.stop();
  vi.unstubAllEnvs();
});

const grantSpan = "meguri.points.v1.PointsService/GrantPoints";

const hex = (bytes: number) =>
  randomUUID()
    .replaceAll("-", "")
    .slice(0, 2 * bytes);
const traceparent = (traceId: string, spanId = hex(8), flags = "01") =>
  `00-${traceId}-${spanId}-${flags}`;

const grant = (header: string | undefined, eventId: string, userId = "planted-user") =>
  server.points.grantPoints(
    { userId, eventId, points: 5n, reason: "planted-reason" },
    header === undefined ? {} : { headers: { traceparent: header } },
  );

const named = (name: string, traceId: string) =>
  collector.spans.filter((span) => span.name === name && span.traceId === traceId);

/** Waits until the collector has so many spans of a name in a trace. */
const received = (name: string, traceId: string, count = 1): Promise<ReceivedSpan[]> =>
  vi.waitFor(() => {
    const spans = named(name, traceId);
    if (spans.length < count) throw new Error(`${spans.length} spans ${name}`);
    return spans;
  }, patience);

test("a call leads to its commit, and the commit to the request to the store", async () => {
  const traceId = hex(16);
  const spanId = hex(8);
  await grant(traceparent(traceId, spanId), "lone");
  const [call] = await received(grantSpan, traceId);
  const [commit] = await received("commit", traceId);
  const [write] = await received("TransactWriteItems", traceId);
  expect(call?.parentSpanId).toBe(spanId);
  expect(commit?.parentSpanId).toBe(call?.spanId);
  expect(write?.parentSpanId).toBe(commit?.spanId);
  expect(commit?.links?.map((link) => link.spanId)).toEqual([call?.spanId]);
});

test("a call that begins a trace is logged with it", async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const logged = await startMemoryServer({}, log);
  onTestFinished(() => logged.stop());
  await logged.points.grantPoints({ userId: "planted-user", eventId: "logged", points: 5n });
  const [line] = await vi.waitFor(() => {
    const calls = lines.map((text) => JSON.parse(text)).filter(({ msg }) => msg === "call");
    expect(calls).toHaveLength(1);
    return calls;
  }, patience);
  expect(await received(grantSpan, line.traceId)).toHaveLength(1);
});

test("the client package begins the trace of a call, where the application traces", async () => {
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  onTestFinished(() => propagation.disable());
  const meguri = createMeguri({ url: `http://127.0.0.1:${server.port}`, caller: "shop" });
  onTestFinished(() => meguri.close());
  await meguri.points.getBalance({ userId: "planted-user" });
  const name = "meguri.points.v1.PointsService/GetBalance";
  const [sent, call] = await vi.waitFor(() => {
    const spans = collector.spans.filter((span) => span.name === name);
    const root = spans.find(({ parentSpanId }) => !parentSpanId);
    const served = spans.find(({ parentSpanId }) => parentSpanId === root?.spanId);
    if (!root || !served) throw new Error("a span is missing");
    return [root, served];
  }, patience);
  expect(call?.traceId).toBe(sent?.traceId);
});

test("a batch links to each of its calls, and each of them to the batch", async () => {
  const ids = Array.from({ length: 8 }, () => hex(16));
  await Promise.all(ids.map((id) => grant(traceparent(id), `batch-${id}`, "hot")));
  const calls = (await Promise.all(ids.map((id) => received(grantSpan, id)))).flat();
  const linked = new Set(calls.map(({ spanId }) => spanId));
  const commits = await vi.waitFor(() => {
    const found = ids.flatMap((id) => named("commit", id));
    const links = found.flatMap((span) => span.links ?? []).map((link) => link.spanId);
    expect(new Set(links)).toEqual(linked);
    return found;
  }, patience);
  // Calls that were not the first of their batch lead to it by a link.
  const commitIds = new Set(commits.map(({ spanId }) => spanId));
  for (const call of calls) {
    const isParent = commits.some(({ parentSpanId }) => parentSpanId === call.spanId);
    const leads = call.links?.some(({ spanId }) => commitIds.has(spanId)) ?? false;
    expect(isParent || leads).toBe(true);
  }
});

test("a call that is refused by its headers has a span, unless nobody is known", async () => {
  const limited = await startMemoryServer({ MEGURI_CALLS_PER_SECOND: "1" });
  onTestFinished(() => limited.stop());
  const [id, unknown, session] = [hex(16), hex(16), await openSession(limited.port)];
  onTestFinished(() => session.destroy());
  const ask = (headers: Record<string, string>) =>
    send(session, { path: `/${grantSpan}`, headers, chunks: [Buffer.alloc(5)] });
  await ask({ traceparent: traceparent(unknown) });
  await vi.waitFor(async () => {
    await ask({ "meguri-caller": "shop", traceparent: traceparent(id) });
    const codes = named(grantSpan, id).flatMap(({ attributes }) => JSON.stringify(attributes));
    expect(codes.some((text) => text.includes("ResourceExhausted"))).toBe(true);
  }, patience);
  expect(collector.spans.filter(({ traceId }) => traceId === unknown)).toEqual([]);
});

test("each reservation of a batch keeps the span of its call", async () => {
  const traceId = hex(16);
  const reservations = ["kept-1", "kept-2"].map((reservationId) => ({
    ...{ reservationId, userId: "planted-user", points: 5n },
    executeTime: at("2030-01-01T00:00:00Z"),
  }));
  await server.reservations.batchCreateReservations(
    { reservations },
    { headers: { traceparent: traceparent(traceId) } },
  );
  const name = "meguri.reservations.v1.ReservationService/BatchCreateReservations";
  const [call] = await received(name, traceId);
  for (const { reservationId } of reservations) {
    const stored = await server.deps.reader.get(reservationRef("default", reservationId));
    expect(stored?.value.traceparent).toBe(traceparent(traceId, call?.spanId));
  }
});

test("a call that its caller does not sample has no span", async () => {
  const unsampled = hex(16);
  await grant(traceparent(unsampled, hex(8), "00"), "unsampled");
  const later = hex(16);
  await grant(traceparent(later), "later");
  await received("TransactWriteItems", later);
  expect(collector.spans.filter(({ traceId }) => traceId === unsampled)).toEqual([]);
});

test("an invalid traceparent fails no call and is continued by no span", async () => {
  const planted = hex(16);
  const valid = traceparent(planted);
  const invalid = [
    `${valid}0`,
    valid.slice(0, -1),
    valid.replace(/^00/, "cc"),
    valid.replace(/^00/, "ff"),
    valid.replace(planted, "0".repeat(32)),
    traceparent(planted, "0".repeat(16)),
    `${valid}, ${valid}`,
    planted.repeat(256),
  ];
  for (const [i, header] of invalid.entries()) await grant(header, `invalid-${i}`);
  const last = hex(16);
  await grant(traceparent(last), "last");
  await received("TransactWriteItems", last);
  expect(collector.spans.filter(({ traceId }) => traceId === planted)).toEqual([]);
});

test("no span has a user, a name or a reason", async () => {
  const id = hex(16);
  await grant(traceparent(id), "private");
  const refused = server.points.usePoints(
    { userId: "planted-user", eventId: "refused", points: 1_000n, reason: "planted-reason" },
    { headers: { traceparent: traceparent(id) } },
  );
  await expect(refused).rejects.toThrow();
  await received("meguri.points.v1.PointsService/UsePoints", id);
  await received("TransactWriteItems", id);
  expect(JSON.stringify(collector.spans)).not.toContain("planted");
});
