/**
 * Waits until workers of this build, and of no other one, poll the task queues. It runs before a
 * server, so that no server leaves work to older workers, which may not know it. It reads a
 * worker's variables, because it looks for what a worker of the same image would be.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { bulkTaskQueue } from "../bulk-grants/contract/bulk-grants.ts";
import { composeWorkflows } from "../compose.ts";
import { readConfig } from "../platform/config/config.ts";
import { runProcess } from "../platform/config/config-error.ts";
import { createLogger, type Logger } from "../platform/observe/log.ts";
import type { Link } from "../platform/temporal/connection.ts";
import { DomainError } from "../platform/words/errors.ts";
import type { Milliseconds } from "../platform/words/units.ts";
import { monthEndTaskQueue } from "../points/contract/month-ends.ts";

/** Temporal's `TaskQueueType`. */
const workflowTasks = 1;
const activityTasks = 2;

/** A worker that is idle polls once a minute, so one that did not for longer has ended. */
const silenceMs = 70_000;

/** The builds of workers that poll, for each kind of task. Undefined: Temporal does not answer. */
type Builds = readonly ReadonlySet<string>[] | undefined;

/** Asks Temporal which builds poll the task queues of the workers. */
export async function buildsOf(link: Link): Promise<Builds> {
  const queues = [
    { name: link.taskQueue, taskQueueType: workflowTasks },
    { name: link.taskQueue, taskQueueType: activityTasks },
    { name: bulkTaskQueue(link.taskQueue), taskQueueType: activityTasks },
    { name: monthEndTaskQueue(link.taskQueue), taskQueueType: activityTasks },
  ];
  const { namespace, connection } = link;
  const describe = async ({ name, taskQueueType }: (typeof queues)[number]) => {
    const request = { namespace, taskQueue: { name }, taskQueueType };
    const { pollers } = await connection.workflowService.describeTaskQueue(request);
    const sinceSeconds = (Date.now() - silenceMs) / 1_000;
    const alive = pollers.filter((each) => Number(each.lastAccessTime?.seconds) > sinceSeconds);
    // A Temporal of before 2025 reports no build ids, so its workers do not count.
    return new Set(alive.flatMap(({ deploymentOptions }) => deploymentOptions?.buildId || []));
  };
  try {
    return await link.call(() => Promise.all(queues.map(describe)));
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

interface Wait {
  readonly readBuilds: () => Promise<Builds>;
  readonly buildId: string;
  readonly log: Pick<Logger, "info" | "warn">;
  /** How long it waits after the last sight of a worker of another build. */
  readonly patienceMs?: Milliseconds;
  readonly pauseMs?: Milliseconds;
}

/**
 * Waits without an end while a worker of another build polls: the servers before this one go on. A
 * missing worker or Temporal is waited for only so long, because a server is of use without them.
 */
export async function awaitWorkers(wait: Wait): Promise<void> {
  const { readBuilds, buildId, log, patienceMs = 60_000, pauseMs = 2_000 } = wait;
  let since = performance.now();
  for (let last = ""; ; await sleep(pauseMs)) {
    const builds = await readBuilds();
    const otherBuilds = [...new Set(builds?.flatMap((each) => [...each]))].filter(
      (each) => each !== buildId,
    );
    if (otherBuilds.length > 0) {
      since = performance.now();
    } else if (builds?.every((each) => each.has(buildId))) {
      log.info({ buildId }, "workers of this build poll");
      return;
    } else if (performance.now() - since >= patienceMs) {
      log.warn({ buildId }, "no worker of this build was found; going on without");
      return;
    }
    const state = { buildId, otherBuilds, temporal: builds !== undefined };
    if (JSON.stringify(state) !== last) log.info(state, "waiting for the workers");
    last = JSON.stringify(state);
  }
}

if (import.meta.main) await runProcess(main);

async function main(): Promise<void> {
  const config = readConfig(process.env, "worker");
  const log = createLogger("await-workers", config.logLevel);
  const workflows = composeWorkflows(config, log);
  try {
    const { buildId } = config;
    await awaitWorkers({ readBuilds: () => buildsOf(workflows.link), buildId, log });
  } finally {
    await workflows.close();
  }
}
