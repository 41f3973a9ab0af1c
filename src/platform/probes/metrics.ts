/** The page of a process's metrics, and the metrics that all processes have in common. */
import { collectDefaultMetrics, Gauge, type Metric, Registry } from "prom-client";
import type { Deps } from "../ports/deps.ts";
import type { Tallies } from "../ports/tallies.ts";
import type { Answer } from "./listener.ts";

/** Creates a registry with the metrics of the process. To be called once per process. */
export function createProcessRegistry(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

/**
 * Returns the page `/metrics` in Prometheus' text format. Metrics that a library exports itself
 * come from `readMore`; if that fails, the page has all others.
 */
export const createMetricsPage =
  (registry: Registry, readMore = async () => "") =>
  async (): Promise<Answer> => {
    const [own, more] = await Promise.all([registry.metrics(), readMore().catch(() => "")]);
    return { status: 200, contentType: registry.contentType, text: own + more };
  };

/** Adds metrics to the page that are kept where they are counted. */
export function exportMetrics(registry: Registry, metrics: Readonly<Record<string, Metric>>): void {
  for (const metric of Object.values(metrics)) registry.registerMetric(metric);
}

/** Adds a gauge that is read at each scrape, and is left out while it is undefined. */
export function exportGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      const value = read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

interface StoreDeps extends Pick<Deps, "storeUnansweredMs"> {
  readonly tallies: Pick<Tallies, "store" | "commits" | "clockSkewMs"> & Partial<Tallies>;
}

/** Exports what a process does with the store, and what it has not done behind calls. */
export function exportStore(registry: Registry, deps: StoreDeps): void {
  const { storeUnansweredMs, tallies } = deps;
  const { store, commits, clockSkewMs, ...ofTasks } = tallies;
  exportMetrics(registry, { ...commits, ...store, ...ofTasks });
  exportGauge(
    registry,
    "meguri_clock_offset_seconds",
    "How far this clock is proven to be off DynamoDB's: positive when it is ahead.",
    () => clockSkewMs() / 1_000,
  );
  exportGauge(
    registry,
    "meguri_store_silence_seconds",
    "For how long DynamoDB has answered none of the requests of one operation.",
    () => storeUnansweredMs() / 1_000,
  );
}
