/** Collectors that do not take spans: neither a call nor the end of a process waits for them. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { startTracing } from "../../../src/platform/observe/tracing.ts";
import { startMemoryServer } from "../../support/servers/server.ts";

/** Starts a collector that treats each export in this way. Returns its address and requests. */
async function startBadCollector(treat: RequestListener) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    treat(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { endpoint: `http://127.0.0.1:${port}`, close, requests: () => requests };
}

/** Grants more often than spans fit into the queue, then ends the tracing. */
async function grantAndStop(endpoint: string, whenGranted: () => Promise<void>): Promise<void> {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_BSP_SCHEDULE_DELAY: "1",
    OTEL_BSP_MAX_QUEUE_SIZE: "4",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2",
    // An exporter that is waited for would exceed the time of the test.
    OTEL_EXPORTER_OTLP_TIMEOUT: "3600000",
  };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const server = await startMemoryServer(env);
  onTestFinished(() => server.stop());
  const stop = await startTracing(server.config, "tests", createLogger("test", "silent"));
  for (let i = 0; i < 20; i++) {
    const eventId = `event-${i}`;
    const { replayed } = await server.points.grantPoints({ userId: "u", eventId, points: 1n });
    expect(replayed).toBe(false);
  }
  await whenGranted();
  await stop();
}

test("a collector that hangs", async () => {
  let isAnswered = false;
  const collector = await startBadCollector((_, response) => {
    response.once("finish", () => {
      isAnswered = true;
    });
  });
  await grantAndStop(collector.endpoint, () =>
    vi.waitFor(() => expect(collector.requests()).toBeGreaterThan(0), { timeout: 60_000 }),
  );
  expect(isAnswered).toBe(false);
});

test("a collector that refuses spans", async () => {
  const collector = await startBadCollector((_, response) => {
    response.writeHead(503, { "retry-after": "3600" }).end();
  });
  await grantAndStop(collector.endpoint, () =>
    vi.waitFor(() => expect(collector.requests()).toBeGreaterThan(0), { timeout: 60_000 }),
  );
});

test("a collector that is away", async () => {
  const collector = await startBadCollector(() => {});
  collector.close();
  await grantAndStop(collector.endpoint, async () => {});
  expect(collector.requests()).toBe(0);
});
