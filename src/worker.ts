import { type NativeConnection, Worker, type WorkflowBundleOption } from "@temporalio/worker";
import { createActivities } from "../activities/index.ts";
import type { Deps } from "./app/ports/deps.ts";
import { compose, composeWorkflows } from "./compose.ts";
import { type Config, readConfig } from "./config.ts";
import { createLogger, type Logger } from "./log.ts";
import { bundleWorkflows } from "./worker/bundle.ts";
import { connectPatiently } from "./worker/connect.ts";
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

/** A worker over these dependencies. Does not poll before it is told to run. */
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
    // A grant is a local activity and holds its workflow task while the store works, so more tasks
    // than the default of 40 at once pay off. 120 with up to 60 pollers is where the SDK team's own
    // load test peaks (worker-options.d.ts); pollers grow only while there is work.
    maxConcurrentWorkflowTaskExecutions: 120,
    maxConcurrentLocalActivityExecutions: 120,
    workflowTaskPollerBehavior: { type: "autoscaling", minimum: 2, initial: 5, maximum: 60 },
    // Sleeping reservations need no place: waking one replays nine events.
    maxCachedWorkflows: 500,
    // stickyQueueScheduleToStartTimeout stays at 10 s: a shorter one expires within a burst, and
    // what moves to the common queue costs a second task (docs/decisions/0009).
    // A sweep that is killed repeats at most this much.
    maxHeartbeatThrottleInterval: "2 seconds",
    shutdownGraceTime: config.drainSeconds * 1_000,
    shutdownForceTime: (config.drainSeconds + 5) * 1_000,
  });
}

if (import.meta.main) await main();

/** The worker process: it waits for Temporal, and on a signal finishes what it has begun. */
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
  const connection = await connectPatiently(config.temporalAddress, log, stopping.signal);
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

/** Polls until the signal, then finishes what has been begun. */
async function runUntil(worker: Worker, signal: AbortSignal, log: Logger): Promise<void> {
  const stop = () => {
    log.info({ signal: signal.reason }, "finishing");
    worker.shutdown();
  };
  const running = worker.run();
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await running;
}
