/** The events process: writes the log of events, and delivers it to the subscriptions. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Registry } from "prom-client";
import { composeEvents } from "./compose-events.ts";
import { createDestinations } from "./events/destinations/create-destinations.ts";
import { readSubscriptionDefinitions } from "./events/destinations/definitions.ts";
import { deliverAll } from "./events/runtime/deliveries.ts";
import { awaitInstallation } from "./events/runtime/installation.ts";
import { keepWriting, writerTiming } from "./events/runtime/keep-writing.ts";
import { createSubscriptionMetrics } from "./events/runtime/subscription-metrics.ts";
import { createWriterMetrics, type WriterMetrics } from "./events/runtime/writer-metrics.ts";
import { StaleWriter } from "./events/use-cases/log-appends.ts";
import { type WriteObservers, writeEvents } from "./events/use-cases/write-events.ts";
import type { EventDeps } from "./hub/deps.ts";
import { readConfigToStart } from "./platform/config/config.ts";
import { runProcess, usingVariable } from "./platform/config/config-error.ts";
import { createLogger, type Logger } from "./platform/observe/log.ts";
import { startTracing } from "./platform/observe/tracing.ts";
import { createOperatorsListener } from "./platform/probes/listener.ts";
import {
  createMetricsPage,
  createProcessRegistry,
  exportMetrics,
  exportStore,
} from "./platform/probes/metrics.ts";
import { createReadiness } from "./platform/probes/readiness.ts";
import { createLease } from "./platform/work/lease.ts";
import { createServerStates } from "./platform/work/server-states.ts";

if (import.meta.main) await runProcess(main);

/** Writes and delivers until a signal, then finishes what is under way. */
async function main(): Promise<void> {
  const config = await readConfigToStart(process.env, "events");
  const log = createLogger("events", config.logLevel);
  const stopTracing = await startTracing(config, "meguri-events", log);
  const states = createServerStates();
  const stopping = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.once(name, () => {
      log.info({ signal: name }, "draining");
      states.enter("DRAINING");
      stopping.abort(name);
    });
  }
  const subscribed = usingVariable("MEGURI_EVENT_SUBSCRIPTIONS", () =>
    createDestinations(readSubscriptionDefinitions(config.eventSubscriptions), log),
  );
  const { deps, close } = composeEvents(config, log);
  const registry = createProcessRegistry();
  exportStore(registry, deps);
  const listener = createOperatorsListener({
    "/readyz": createReadiness({ deps, states, log, process: "events" }),
    "/metrics": createMetricsPage(registry),
  });
  const eventsPort = await listener.listen(config.host, config.eventsPort);
  const working = work({ deps, subscribed, registry, log }, stopping.signal);
  states.enter("SERVING");
  log.info({ eventsPort }, "ready");
  process.send?.("ready");
  await Promise.race([working, drained(stopping.signal, config.drainSeconds * 1_000)]);
  await close();
  listener.close();
  await stopTracing();
  log.info("stopped");
  process.exit(0);
}

interface Parts {
  readonly deps: EventDeps;
  readonly subscribed: ReturnType<typeof createDestinations>;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Writes the log and delivers from it until the signal aborts. Neither waits for the other. */
async function work(parts: Parts, stopping: AbortSignal): Promise<void> {
  const { deps, subscribed, registry, log } = parts;
  const metrics = createWriterMetrics(deps.changeStreams.behindMs);
  const subscriptionMetrics = createSubscriptionMetrics();
  exportMetrics(registry, metrics.metrics);
  exportMetrics(registry, subscriptionMetrics);
  const installation = await awaitInstallation(deps.reader, log, stopping);
  if (installation === undefined) return;
  const observers = observe(metrics, log);
  const writing = keepWriting(
    {
      lease: createLease(deps, "events", log, writerTiming),
      write: (signal) => writeEvents(deps, { installation, observers }, signal),
      isStale: (error) => error instanceof StaleWriter,
      onWriting: metrics.onWriting,
      onFailed: metrics.onAppendFailed,
      log,
    },
    stopping,
  );
  const { eventLog } = deps;
  const delivering = deliverAll(
    {
      ...{ deps, subscribed, eventLog, installation, logger: log },
      metrics: subscriptionMetrics,
      now: deps.storeTime,
    },
    stopping,
  );
  await Promise.all([writing, delivering]);
}

function observe(metrics: WriterMetrics, log: Logger): WriteObservers {
  return {
    onAppended: metrics.onAppended,
    onUnreadable(table, item, err) {
      metrics.onUnreadable(table);
      log.error({ table, item, err }, "a change could not be read");
    },
    onGap({ table, startTime, endTime }) {
      metrics.onGap(table);
      log.error({ table, startTime, endTime }, "changes were lost; making them from the table");
    },
  };
}

/** Resolves when the time for what is under way is over after the signal. */
async function drained(stopping: AbortSignal, drainMs: number): Promise<void> {
  if (!stopping.aborted) await once(stopping, "abort");
  await sleep(drainMs, undefined, { ref: false });
}
