/** The trace of a reservation: reserved by this process, granted by a worker process. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createLogger } from "../../src/platform/observe/log.ts";
import { startTracing } from "../../src/platform/observe/tracing.ts";
import { inputOf, recordOf, showsDetails } from "../support/fixtures/operators.ts";
import { handleOf } from "../support/fixtures/reservations.ts";
import { patience } from "../support/fixtures/waiting.ts";
import { type Collector, startCollector } from "../support/servers/collector.ts";
import { at } from "../support/servers/refusal.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let collector: Collector;
let stack: WorkerStack;
let server: TestServer;
let stopTracing: () => Promise<void>;
let env: Record<string, string>;
beforeAll(async () => {
  collector = await startCollector();
  env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: "10" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
  const { workflows, config } = stack;
  const { tablePrefix } = config;
  server = await startServer({ testClock: false, workflows, tablePrefix, env });
  stopTracing = await startTracing(server.config, "tests", createLogger("test", "silent"));
});
afterAll(async () => {
  await server.stop();
  await stopTracing();
  await stack.stop();
  await collector.stop();
  vi.unstubAllEnvs();
});

const spanOf = (name: string) =>
  vi.waitFor(
    () => {
      const span = collector.spans.find((each) => each.name === name);
      if (!span) throw new Error(`no span ${name}`);
      return span;
    },
    { timeout: 120_000, interval: 50 },
  );

test("a grant by another process is a trace of its own that links to the call", async () => {
  const { programId } = stack;
  const traceId = randomUUID().replaceAll("-", "");
  const id = "traced";
  await server.reservations.createReservation(
    {
      programId,
      reservationId: id,
      userId: "planted-user",
      points: 5n,
      reason: "planted-reason",
      executeTime: at("2020-01-01T00:00:00Z"),
      allowPastExecuteTime: true,
    },
    { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } },
  );
  const call = await spanOf("meguri.reservations.v1.ReservationService/CreateReservation");
  expect(call.traceId).toBe(traceId);
  const traceparent = `00-${traceId}-${call.spanId}-01`;
  expect((await recordOf(stack, id)).traceparent).toBe(traceparent);

  const worker = await stack.startWorkerProcess(env);
  const grant = await spanOf("execute reservation");
  expect(grant.traceId).not.toBe(traceId);
  expect(grant.parentSpanId ?? "").toBe("");
  expect(grant.links?.map((link) => [link.traceId, link.spanId])).toEqual([[traceId, call.spanId]]);
  await vi.waitFor(() => {
    const spans = collector.spans.filter((span) => span.traceId === grant.traceId);
    expect(spans.map(({ name }) => name)).toContain("TransactWriteItems");
  }, patience);
  const handle = handleOf(stack, id);
  expect(await inputOf(handle)).toMatchObject({ traceparent });
  await showsDetails(handle, `- trace: ${traceId}`);
  expect(JSON.stringify(collector.spans)).not.toContain("planted");
  await worker.stop();
});
