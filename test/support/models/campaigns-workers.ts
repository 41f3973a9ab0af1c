/** The workers of a model: each attempt is made by a process of its own, which has a fate. */
import type { Client } from "@temporalio/client";
import { MockActivityEnvironment } from "@temporalio/testing";
import { createActivities } from "../../../activities/index.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { requestMs } from "../../../src/platform/ports/engine.ts";
import { noObservers } from "../fixtures/no-observers.ts";
import { type Fate, never } from "./campaigns-links.ts";
import type { ActivityTask, Worker } from "./memory-temporal.ts";

/** Starts a process. */
export type StartProcess = (fate: Fate | undefined, isDead: () => boolean) => WorkerDeps;

/** Later attempts at the same blocks meet with nothing. */
const fatedAttempts = 3;

const nothing = () => undefined;
const logger = {
  log: nothing,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

/** Temporal's client, as activities ask it for who has started their run: nobody knows. */
const client = {
  withAbortSignal: (_: AbortSignal, call: () => Promise<unknown>) => call(),
  workflowService: { getWorkflowExecutionHistory: async () => ({}) },
} as unknown as Client;

/** Tells when an attempt begins and ends, also one that Temporal has given up. */
type CountAttempts = (by: number, isAtRows: boolean) => void;

/** Returns what executes attempts; those at rows meet with the fates, one after another. */
export function createWorkers(
  start: StartProcess,
  fates: readonly (Fate | undefined)[],
  count: CountAttempts,
): Worker {
  let next = 0;
  return async (task) => {
    const isAtRows = task.name === "runBlocks";
    const isFated = isAtRows && task.attempt <= fatedAttempts;
    const fate = isFated ? fates[next++ % fates.length] : undefined;
    const begin = performance.now();
    const hasEnded = () => fate?.end !== undefined && performance.now() - begin >= fate.end.ms;
    const deps = start(fate, () => fate?.end?.as === "killed" && hasEnded());
    const end = once(() => count(-1, isAtRows));
    count(1, isAtRows);
    // What a killed process has sent may arrive for as long as a request may take.
    if (fate?.end?.as === "killed") setTimeout(end, fate.end.ms + requestMs);
    const result = await attempt(deps, task, hasEnded).finally(end);
    return hasEnded() ? never : result;
  };
}

/** Executes an activity. Its heartbeats reach Temporal until `hasEnded`. */
function attempt(deps: WorkerDeps, task: ActivityTask, hasEnded: () => boolean): Promise<unknown> {
  const { name, args, workflowId, attempt, heartbeatDetails } = task;
  const workflowExecution = { workflowId, runId: "" };
  const info = { workflowExecution, attempt, heartbeatDetails };
  const environment = new MockActivityEnvironment(info, { logger, client });
  environment.on("heartbeat", (details) => {
    if (!hasEnded()) task.heartbeat(details);
  });
  const activities = createActivities({ deps, ...noObservers });
  type Activity = (...args: unknown[]) => Promise<unknown>;
  return environment.run(activities[name as keyof typeof activities] as Activity, ...args);
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
