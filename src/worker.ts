/** The worker process: runs workflows and activities; bulk grants and month ends have own slots. */
import { type NativeConnection, Worker, type WorkflowBundleOption } from "@temporalio/worker";
import { createActivities } from "../activities/index.ts";
import { steps } from "../workflows/timing.ts";
import { bulkTaskQueue } from "./bulk-grants/contract/bulk-grants.ts";
import { composeWorker, composeWorkflows, usedCertificates } from "./compose.ts";
import type { Deps, WorkerDeps } from "./hub/deps.ts";
import { type Config, readConfigToStart } from "./platform/config/config.ts";
import { runProcess } from "./platform/config/config-error.ts";
import { createLogger, type Logger } from "./platform/observe/log.ts";
import { startTracing } from "./platform/observe/tracing.ts";
import { exportCertificateEnds, exportKeyAges } from "./platform/probes/keys.ts";
import { createProcessRegistry, exportGauge, exportStore } from "./platform/probes/metrics.ts";
import { storeProblem } from "./platform/probes/readiness.ts";
import { createServerStates } from "./platform/work/server-states.ts";
import { monthEndTaskQueue } from "./points/contract/month-ends.ts";
import { shardCount } from "./points/contract/points.ts";
import type { OnDone } from "./reservations/ports/observers.ts";
import { latenessOf, type Reservation } from "./reservations/rules/reservation.ts";
import { createDueMemory } from "./reservations/use-cases/due-reads.ts";
import { executeOverdue } from "./reservations/use-cases/overdue.ts";
import { endIfDifferent } from "./temporal/installation.ts";
import { bundleWorkflows } from "./worker/bundle.ts";
import { awaitConnection } from "./worker/connect.ts";
import { createMetrics, createMetricsListener, type Metrics } from "./worker/metrics.ts";
import { sweepOverdue } from "./worker/overdue-sweeps.ts";
import { createWorkerReadiness } from "./worker/readiness.ts";
import { runToEnd } from "./worker/run-to-end.ts";
import { installSdkWithMetrics } from "./worker/sdk.ts";
import { sealAnswers } from "./worker/seal-answers.ts";
import { maxHeldGrants } from "./worker/slots.ts";
import { createTemporalWatch } from "./worker/temporal-watch.ts";
import { traceActivities } from "./worker/trace-activities.ts";

interface WorkerParts {
  readonly connection: NativeConnection;
  readonly config: Pick<Config, "temporalNamespace" | "taskQueue" | "buildId" | "drainSeconds">;
  readonly bundle: WorkflowBundleOption;
  readonly deps: WorkerDeps;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The workers of one process, as one. */
type Workers = Pick<Worker, "run" | "shutdown">;

/** The steps over the rows of bulk grants that one process executes at a time. */
const maxBulkSteps = 4;

/**
 * Temporal gives each task to the poll that waits longest. Workers with the same few polls get as
 * many shards of a month end each; with polls that autoscale, a busy worker gets most of them.
 */
const monthEndPolls = 2;

/**
 * Creates a worker with these dependencies, and one each for the rows of bulk grants and for the
 * shards of month ends, which have their own task queues and slots, so that they never delay a
 * reservation. They poll from `run` on.
 */
export async function createWorker(parts: WorkerParts): Promise<Workers> {
  const { connection, config, deps, metrics, log } = parts;
  const options = {
    connection,
    namespace: config.temporalNamespace,
    // Marks runs with the build. A run is not bound to it (docs/decisions/0017).
    workerDeploymentOptions: {
      version: { deploymentName: "meguri", buildId: config.buildId },
      useWorkerVersioning: false,
    },
    activities: createActivities({
      deps,
      ...metrics.observers,
      onDone: observeDone(metrics, log),
    }),
    maxHeartbeatThrottleInterval: steps.sentMs,
    shutdownGraceTime: config.drainSeconds * 1_000,
    shutdownForceTime: (config.drainSeconds + 5) * 1_000,
  } as const;
  const interceptors = { activity: [traceActivities, sealAnswers] };
  const workers = [
    await Worker.create({ ...options, interceptors, ...mainOptions(parts) }),
    await Worker.create({
      ...options,
      interceptors,
      taskQueue: bulkTaskQueue(config.taskQueue),
      maxConcurrentActivityTaskExecutions: maxBulkSteps,
    }),
    await Worker.create({
      ...options,
      interceptors,
      taskQueue: monthEndTaskQueue(config.taskQueue),
      maxConcurrentActivityTaskExecutions: shardCount,
      activityTaskPollerBehavior: { type: "simple-maximum", maximum: monthEndPolls },
    }),
  ];
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
  };
  return {
    async run() {
      // When one of them fails, the process ends, so all of them have to end.
      const runs = workers.map((worker) => runToEnd(worker, log).finally(shutdown));
      await Promise.allSettled(runs);
      await Promise.all(runs);
    },
    shutdown,
  };
}

/** Counts and logs each reservation that is granted. */
const observeDone =
  ({ observers }: Metrics, log: Logger): OnDone =>
  (reservation, cause) => {
    observers.onDone(reservation, cause);
    const { programId, reservationId } = reservation;
    log.info(
      { programId, reservationId, lateness_ms: latenessOf(reservation) },
      "reservation done",
    );
  };

/** The options of the worker of the workflows and of the activities that people wait for. */
const mainOptions = ({ config, bundle }: Pick<WorkerParts, "config" | "bundle">) =>
  ({
    taskQueue: config.taskQueue,
    workflowBundle: bundle,
    // No grant waits for a workflow task. After a burst, many tasks at once would take the CPU time
    // of the grants that are still under way (docs/decisions/0018).
    maxConcurrentWorkflowTaskExecutions: 10,
    workflowTaskPollerBehavior: { type: "autoscaling", minimum: 2, initial: 2, maximum: 5 },
    maxConcurrentActivityTaskExecutions: maxHeldGrants,
    activityTaskPollerBehavior: { type: "autoscaling", minimum: 2, initial: 5, maximum: 60 },
    // Sleeping reservations need no cache: a history replay of one has nine events.
    maxCachedWorkflows: 500,
    // stickyQueueScheduleToStartTimeout stays at 10 s: a shorter one expires within a burst, and a
    // task that moves to the common queue costs a second task. No grant waits for one
    // (docs/decisions/0009).
  }) as const;

/** The types of tasks that all workers together poll for, by task queue. */
const pollsOf = ({ taskQueue }: Pick<Config, "taskQueue">) =>
  ({
    [taskQueue]: ["workflow_task", "activity_task"],
    [bulkTaskQueue(taskQueue)]: ["activity_task"],
    [monthEndTaskQueue(taskQueue)]: ["activity_task"],
  }) as const;

if (import.meta.main) await runProcess(main);

/** Executes what is overdue while it waits for Temporal, and runs until a signal. */
async function main(): Promise<void> {
  const config = await readConfigToStart(process.env, "worker");
  const log = createLogger("worker", config.logLevel);
  const stopTracing = await startTracing(config, "meguri-worker", log);
  const readSdkMetrics = await installSdkWithMetrics(log);
  const stopping = new AbortController();
  const states = createServerStates();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.once(name, () => {
      states.enter("DRAINING");
      stopping.abort(name);
    });
  }
  const metrics = createMetrics(createProcessRegistry());
  const temporal = createTemporalWatch();
  const { silenceMs } = temporal;
  exportGauge(
    metrics.registry,
    "meguri_temporal_silence_seconds",
    "How long ago Temporal last answered this worker, or since its start before the first answer.",
    // A worker that starts while Temporal is away counts from its start, so that the alert goes on.
    () => (silenceMs() ?? performance.now()) / 1_000,
  );
  const queues = pollsOf(config);
  const workflows = composeWorkflows(config, log);
  exportKeyAges(metrics.registry, workflows.keyAges);
  exportCertificateEnds(metrics.registry, usedCertificates(config));
  const { deps, close } = composeWorker(config, workflows, log);
  exportStore(metrics.registry, deps);
  const readyz = createWorkerReadiness({
    ...{ states, queues, readSdkMetrics, silenceMs },
    storeProblem: () => storeProblem(deps, log),
  });
  const listener = createMetricsListener(metrics, readSdkMetrics, readyz);
  const metricsPort = await listener.listen(config.host, config.metricsPort);
  // Before anything that needs Temporal: what is overdue waits for none of it.
  const sweeps = startSweeps(deps, metrics, log, stopping.signal);
  const { workflowBundle } = config;
  const bundle = workflowBundle ? { codePath: workflowBundle } : await bundleWorkflows();
  const connection = await awaitConnection(workflows.endpoint, log, stopping.signal);
  if (connection) {
    temporal.start(connection);
    await endIfDifferent(workflows.link, deps.reader, stopping.signal);
    const worker = await createWorker({
      connection,
      config,
      bundle,
      deps,
      metrics,
      log,
    });
    states.enter("SERVING");
    log.info({ taskQueue: config.taskQueue, metricsPort }, "ready");
    process.send?.("ready");
    await runUntil(worker, stopping.signal, log);
    temporal.close();
    await connection.close();
  }
  await sweeps;
  await close();
  await workflows.close();
  listener.close();
  await stopTracing();
  log.info("stopped");
  process.exit(0);
}

/** Executes what is overdue until the signal. */
function startSweeps(
  deps: Deps,
  metrics: Metrics,
  log: Logger,
  stopping: AbortSignal,
): Promise<void> {
  const memory = createDueMemory();
  const observers = {
    onDone: observeDone(metrics, log),
    onRefused: ({ failure }: Reservation) =>
      metrics.observers.onFailed("reservation", failure?.reason ?? ""),
    onFailed: (name: object, err: unknown) =>
      log.warn({ ...name, err }, "what is overdue is left to a later sweep"),
    isHeld: metrics.observers.pastDue.holds,
  };
  return sweepOverdue(
    {
      async sweep(signal) {
        const { failures: _, ...counts } = await executeOverdue(deps, observers, signal, memory);
        metrics.onOverdue(counts);
        if (counts.overdue > 0) log.info(counts, "overdue reservations and holds were executed");
        return counts;
      },
      onSwept(err) {
        metrics.onSwept(err === undefined);
        if (err !== undefined) log.warn({ err }, "a sweep over what is overdue has failed");
      },
    },
    stopping,
  );
}

/** Polls until the signal, then finishes the tasks that it has. */
async function runUntil(worker: Workers, signal: AbortSignal, log: Logger): Promise<void> {
  const stop = () => {
    log.info({ signal: signal.reason }, "draining");
    worker.shutdown();
  };
  const running = worker.run();
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await running;
}
