/** The worker process: runs the workflows and activities of one task queue. */
import { type NativeConnection, Worker, type WorkflowBundleOption } from "@temporalio/worker";
import { createActivities } from "../activities/index.ts";
import type { Deps } from "./app/ports/deps.ts";
import { compose, composeWorkflows } from "./compose.ts";
import { type Config, readConfig } from "./config.ts";
import { createLogger, type Logger } from "./log.ts";
import { bundleWorkflows } from "./worker/bundle.ts";
import { awaitConnection } from "./worker/connect.ts";
import { createMetrics, type Metrics, serveMetrics } from "./worker/metrics.ts";
import { installSdkLog } from "./worker/sdk-log.ts";

interface WorkerDeps {
  readonly connection: NativeConnection;
  readonly config: Pick<Config, "temporalNamespace" | "taskQueue" | "drainSeconds">;
  readonly bundle: WorkflowBundleOption;
  readonly deps: Deps;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Creates a worker with these dependencies. It polls from its method `run` on. */
export function createWorker(parts: WorkerDeps): Promise<Worker> {
  const { connection, config, bundle, deps, metrics, log } = parts;
  return Worker.create({
    connection,
    namespace: config.temporalNamespace,
    taskQueue: config.taskQueue,
    workflowBundle: bundle,
    activities: createActivities({
      deps,
      onDone(row) {
        const lateness_ms = metrics.observe(row);
        log.info(
          { programId: row.programId, reservationId: row.reservationId, lateness_ms },
          "reservation done",
        );
      },
    }),
    // A grant is a local activity that occupies its workflow task while the store answers, so more
    // concurrent tasks than the default of 40 pay off. The SDK team's own load test peaks at 120
    // with up to 60 pollers (worker-options.d.ts); pollers are added only while there is work.
    maxConcurrentWorkflowTaskExecutions: 120,
    maxConcurrentLocalActivityExecutions: 120,
    workflowTaskPollerBehavior: { type: "autoscaling", minimum: 2, initial: 5, maximum: 60 },
    // Sleeping reservations need no cache: a history replay of one has nine events.
    maxCachedWorkflows: 500,
    // stickyQueueScheduleToStartTimeout stays at 10 s: a shorter one expires within a burst, and a
    // task that moves to the common queue costs a second task (docs/decisions/0009).
    // A month-end sweep that is killed repeats at most the work of this time.
    maxHeartbeatThrottleInterval: "2 seconds",
    shutdownGraceTime: config.drainSeconds * 1_000,
    shutdownForceTime: (config.drainSeconds + 5) * 1_000,
  });
}

if (import.meta.main) await main();

/** Waits for Temporal, and runs until a signal. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger("worker", config.logLevel);
  installSdkLog(log);
  const stopping = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.once(name, () => stopping.abort(name));
  }
  const metrics = createMetrics();
  const server = await serveMetrics(metrics, config.host, config.metricsPort);
  const { workflowBundle } = config;
  const bundle = workflowBundle ? { codePath: workflowBundle } : await bundleWorkflows();
  const connection = await awaitConnection(config.temporalAddress, log, stopping.signal);
  if (connection) {
    const workflows = composeWorkflows(config, log);
    const { deps, close } = compose(config, workflows, log);
    const worker = await createWorker({ connection, config, bundle, deps, metrics, log });
    log.info({ taskQueue: config.taskQueue, metricsPort: server.port }, "ready");
    process.send?.("ready");
    await runUntil(worker, stopping.signal, log);
    await close();
    await workflows.close();
    await connection.close();
  }
  server.close();
  log.info("stopped");
  process.exit(0);
}

/** Polls until the signal, then finishes the tasks that it has. */
async function runUntil(worker: Worker, signal: AbortSignal, log: Logger): Promise<void> {
  const stop = () => {
    log.info({ signal: signal.reason }, "draining");
    worker.shutdown();
  };
  const running = worker.run();
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await running;
}
