/** Creates a schedule, updates one that differs, and restarts runs on another task queue. */
import { isDeepStrictEqual } from "node:util";
import {
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  type ScheduleSpec,
  WorkflowNotFoundError,
} from "@temporalio/client";
import type { Link } from "./connection.ts";

/** A schedule as this process wants it, in the form in which Temporal describes one. */
export type WantedSchedule = Pick<ScheduleDescription, "scheduleId" | "policies" | "action"> & {
  /**
   * Temporal describes a cron expression as calendars, which are not compared. The summary of the
   * action has to contain the expression, so that a change of it is found.
   */
  readonly spec: ScheduleDescription["spec"] & Pick<ScheduleSpec, "cronExpressions">;
  /** Written when the schedule is created, and never again. */
  readonly memo?: Record<string, unknown>;
};

/**
 * The time limit of a request about a schedule. Temporal answers a description by a query of the
 * schedule's own workflow, which waits for a workflow task that is under way.
 */
const timeoutMs = 10_000;

/**
 * Creates the schedule if it is missing, after `beforeCreate`. Otherwise updates and logs what
 * differs; the pause, the note and the remaining actions stay as an operator has set them. Then
 * restarts the schedule's runs on another task queue than the wanted one, where there may be no
 * worker any more. Several processes may do it at once: each writes the same.
 */
export async function ensureSchedule(
  link: Link,
  wanted: WantedSchedule,
  beforeCreate = async () => {},
): Promise<void> {
  const found = await describe(link, wanted.scheduleId);
  if (!found) {
    await beforeCreate();
    await create(link, wanted);
    return;
  }
  const changed = differences(found, wanted);
  if (Object.keys(changed).length > 0) {
    await update(link, wanted);
    link.log.info({ scheduleId: wanted.scheduleId, changed }, "a schedule was updated");
  }
  await restartMisplacedRuns(link, found);
}

/** Sends a request about a schedule when the earlier requests have ended. */
async function send<T>(link: Link, request: () => Promise<T>): Promise<T> {
  await link.scheduleTurn();
  return link.call(request, timeoutMs);
}

/** Returns the schedule as Temporal has it; undefined when it does not exist. */
async function describe(link: Link, scheduleId: string): Promise<ScheduleDescription | undefined> {
  try {
    return await send(link, () => link.client.schedule.getHandle(scheduleId).describe());
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** Whether a run of the workflow is running on another task queue than this process's. */
export async function isMisplaced(
  { client, call, taskQueue }: Link,
  workflowId: string,
): Promise<boolean> {
  try {
    const run = await call(() => client.workflow.getHandle(workflowId).describe());
    return run.status.name === "RUNNING" && run.taskQueue !== taskQueue;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function create(link: Link, wanted: WantedSchedule): Promise<void> {
  try {
    await send(link, () => link.client.schedule.create(wanted));
  } catch (error) {
    // Another process has created it meanwhile.
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

async function update(link: Link, wanted: WantedSchedule): Promise<void> {
  const { scheduleId, spec, policies, action } = wanted;
  const handle = link.client.schedule.getHandle(scheduleId);
  // An update describes the schedule first, which is a request of its own.
  await link.scheduleTurn();
  await send(link, () => handle.update(({ state }) => ({ spec, policies, action, state })));
}

/** The settings that differ, each as it was found and as it is wanted. */
function differences(found: WantedSchedule, wanted: WantedSchedule): Record<string, unknown> {
  const from: Record<string, unknown> = settingsOf(found);
  return Object.fromEntries(
    Object.entries(settingsOf(wanted))
      .filter(([name]) => name !== "calendars" || !wanted.spec.cronExpressions)
      .filter(([name, to]) => !isDeepStrictEqual(from[name], to))
      .map(([name, to]) => [name, { from: from[name], to }]),
  );
}

/** The settings for a comparison. Temporal omits some defaults, and orders maps as it likes. */
function settingsOf({ spec, policies, action }: WantedSchedule) {
  const { typedSearchAttributes: pairs = [] } = action;
  return {
    calendars: spec.calendars ?? [],
    intervals: (spec.intervals ?? []).map(({ every, offset }) => ({ every, offset: offset ?? 0 })),
    skip: spec.skip ?? [],
    startAt: spec.startAt,
    endAt: spec.endAt,
    jitter: spec.jitter ?? 0,
    timeZone: spec.timezone || "UTC",
    overlap: policies.overlap,
    catchupWindow: policies.catchupWindow,
    pauseOnFailure: policies.pauseOnFailure,
    workflowType: action.workflowType,
    workflowId: action.workflowId,
    taskQueue: action.taskQueue,
    args: action.args,
    executionTimeout: action.workflowExecutionTimeout ?? 0,
    runTimeout: action.workflowRunTimeout ?? 0,
    taskTimeout: action.workflowTaskTimeout ?? 0,
    retry: action.retry,
    summary: action.staticSummary,
    details: action.staticDetails,
    searchAttributes: Object.fromEntries(
      (Array.isArray(pairs) ? pairs : pairs.getAll()).map(({ key, value }) => [key.name, value]),
    ),
  };
}

/**
 * Terminates the runs on another task queue. Before that it triggers a run that is buffered until
 * they have ended, so that none is missing if this process stops in between. A paused schedule gets
 * no such run, because the operator wants none.
 */
async function restartMisplacedRuns(
  link: Link,
  { scheduleId, state, info }: ScheduleDescription,
): Promise<void> {
  const { client, call, log, taskQueue } = link;
  for (const { workflow } of info.runningActions) {
    const { workflowId, firstExecutionRunId } = workflow;
    if (!(await isMisplaced(link, workflowId))) continue;
    if (!state.paused) {
      await send(link, () => client.schedule.getHandle(scheduleId).trigger("BUFFER_ONE"));
    }
    // Names the chain of runs, so that a run that another process has started is left alone.
    const chain = client.workflow.getHandle(workflowId, undefined, { firstExecutionRunId });
    const reason = `runs on another task queue than ${taskQueue}`;
    try {
      await call(() => chain.terminate(reason));
      log.info({ scheduleId, workflowId, taskQueue }, "a run on another task queue was ended");
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}
