/** The metrics of a worker, and the HTTP server that exposes them. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Histogram, Registry } from "prom-client";
import type { Reservation } from "../domain/reservation.ts";

export interface Metrics {
  readonly registry: Registry;
  /** Counts the lateness of a granted reservation. Returns it in ms. */
  observe(row: Reservation): number;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const lateness = new Histogram({
    name: "meguri_reservation_lateness_seconds",
    help: "How long after its execute_time a reservation was granted.",
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200],
    registers: [registry],
  });
  return {
    registry,
    observe({ executed, executeTime }) {
      const latenessMs = executed ? Math.max(0, executed.time - executeTime) : 0;
      lateness.observe(latenessMs / 1_000);
      return latenessMs;
    },
  };
}

/** Serves `GET /metrics` in Prometheus' text format. Port 0 means any free one. */
export async function serveMetrics(
  { registry }: Metrics,
  host: string,
  port: number,
): Promise<{ readonly port: number; close(): void }> {
  const server = createServer(async ({ method, url }, response) => {
    if (method !== "GET" || url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
