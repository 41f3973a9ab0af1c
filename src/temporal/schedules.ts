/** Creates Temporal's schedules: the month-end sweep of each program, and the reconciler. */
import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
} from "@temporalio/client";
import type { Reader } from "../app/ports/deps.ts";
import { allPages } from "../app/ports/pages.ts";
import {
  fullReconcileId,
  type MonthEndInput,
  monthEndId,
  type ReconcileInput,
  type ReconcileResult,
  reconcileId,
  workflowTypes,
} from "../contract.ts";
import type { Program } from "../domain/program.ts";
import type { Link, TemporalWorkflows } from "./connection.ts";
import { ensureSearchAttributes, programKey } from "./search-attributes.ts";

type Reconcile = (input: ReconcileInput) => Promise<ReconcileResult>;

/** The time limit for search attributes, which a namespace may take long to apply. */
const setupMs = 40_000;

/**
 * Creates missing search attributes and schedules. A missing reconciler means that the namespace is
 * new or was lost, so one full pass over all pending reservations is started first: after a crash
 * in between, the schedule is still missing, and the next attempt starts the pass again.
 *
 * If the schedule of a program cannot be created (an older Temporal may not know its time zone),
 * logs that and goes on with the other programs. Throws after the last program if one has failed.
 */
export async function ensureSchedules(workflows: TemporalWorkflows, reader: Reader): Promise<void> {
  const { link } = workflows;
  await link.call(() => ensureSearchAttributes(link.connection, link.namespace), setupMs);
  await ensureReconciler(link);
  const failed: string[] = [];
  for await (const programs of allPages(100, (page) => reader.programs(page))) {
    for (const program of programs) {
      try {
        await workflows.ensureMonthEnd(program);
      } catch (error) {
        const { programId, timeZone } = program;
        link.log.warn(
          { err: error, programId, timeZone },
          "no month-end schedule for this program",
        );
        failed.push(programId);
      }
    }
  }
  if (failed.length > 0) throw new Error(`no month-end schedule for ${failed.join(", ")}`);
}

/** The pause before the next check of the schedules, after a failure and after a success. */
const pauseMs = { failed: 5_000, ensured: 3_600_000 };

/**
 * Ensures the schedules now, every 5 s until it succeeds, and then every hour: a server also starts
 * while Temporal or the store is away, and a schedule that was deleted, or was not created together
 * with its program, comes back within an hour. Returns a function that stops it.
 */
export function keepEnsuringSchedules(workflows: TemporalWorkflows, reader: Reader): () => void {
  const { log } = workflows.link;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  async function attempt(): Promise<void> {
    let pause = pauseMs.ensured;
    try {
      await ensureSchedules(workflows, reader);
    } catch (error) {
      if (stopped) return;
      log.warn({ err: error }, "schedules could not be created; trying again in 5 s");
      pause = pauseMs.failed;
    }
    if (!stopped) timer = setTimeout(() => void attempt(), pause).unref();
  }
  void attempt();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/**
 * Creates the month-end sweep of a program, in its time zone: at 00:00:10, when the month has begun
 * by the clock of every server, and at 01:00:10 for accounts that the index did not show yet. Where
 * a clock change skips the hour after midnight, Temporal skips the first run, and the second one
 * comes 10 s after the month's start; where that hour comes twice, so does the first run. A run
 * waits for the run before it, because it reads a later state of the index. Missed runs of up to a
 * year are caught up; one run expires the points of all months that are due.
 */
export async function ensureMonthEnd(link: Link, { programId, timeZone }: Program): Promise<void> {
  const first = { dayOfMonth: 1, hour: 0, minute: 0, second: 10 };
  const second = { dayOfMonth: 1, hour: 1, minute: 0, second: 10 };
  await createSchedule(link, {
    scheduleId: monthEndId(programId),
    spec: { calendars: [first, second], timezone: timeZone },
    policies: { overlap: "BUFFER_ONE", catchupWindow: "365 days" },
    action: {
      type: "startWorkflow",
      workflowType: workflowTypes.monthEnd,
      workflowId: monthEndId(programId),
      taskQueue: link.taskQueue,
      args: [{ program: programId }] satisfies [MonthEndInput],
      staticSummary: `expire the points of ${programId} whose month has ended (${timeZone})`,
      typedSearchAttributes: [{ key: programKey, value: programId }],
    },
  });
}

async function ensureReconciler(link: Link): Promise<void> {
  const { client, taskQueue } = link;
  if (await link.call(() => exists(link, reconcileId))) return;
  await link.call(() =>
    client.workflow.start<Reconcile>(workflowTypes.reconcile, {
      workflowId: fullReconcileId,
      taskQueue,
      args: [{ everything: true }],
      workflowIdConflictPolicy: "USE_EXISTING",
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      staticSummary: "start a run for every reservation that waits",
    }),
  );
  await createSchedule(link, {
    scheduleId: reconcileId,
    spec: { intervals: [{ every: "1 minute" }] },
    // A skipped or missed run needs no replacement: the next one does the same work.
    policies: { overlap: "SKIP", catchupWindow: "1 minute" },
    action: {
      type: "startWorkflow",
      workflowType: workflowTypes.reconcile,
      workflowId: reconcileId,
      taskQueue,
      args: [{ everything: false }] satisfies [ReconcileInput],
      staticSummary: "start a run for every reservation that is overdue",
    },
  });
}

async function exists({ client }: Link, scheduleId: string): Promise<boolean> {
  try {
    await client.schedule.getHandle(scheduleId).describe();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}

async function createSchedule(link: Link, options: ScheduleOptions): Promise<void> {
  try {
    await link.call(() => link.client.schedule.create(options));
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}
