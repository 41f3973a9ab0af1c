/** The metrics of the calls of a server. */
import { Gauge, type Registry } from "prom-client";
import type { CallTallies } from "../ports/tallies.ts";
import { exportCounts, exportGauge, exportHistogram } from "./export-tallies.ts";

export function exportCalls(registry: Registry, tallies: CallTallies): void {
  exportCounts(
    registry,
    { name: "meguri_calls_total", help: "Calls by their reason, which is OK for a success." },
    tallies.calls,
  );
  exportHistogram(
    registry,
    {
      name: "meguri_call_seconds",
      help: "Duration of calls, streams from their begin to their end.",
    },
    "method",
    () => tallies.seconds.byName,
  );
  new Gauge({
    name: "meguri_streams",
    help: "Open streams.",
    labelNames: ["method"],
    registers: [registry],
    collect() {
      for (const [method, count] of tallies.streams) this.set({ method }, count);
    },
  });
  exportCounts(
    registry,
    {
      name: "meguri_refused_before_body_total",
      help: "Calls that were refused by their headers, before a byte of their bodies was read.",
    },
    tallies.refusedBeforeBody,
  );
  exportGauge(
    registry,
    { name: "meguri_body_bytes_in_flight", help: "Bytes of bodies that wait for their rest." },
    () => tallies.bodyBytes,
  );
}
