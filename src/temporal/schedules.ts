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

/** Registering can wait for the namespace to notice; everything else answers at once. */
const setupMs = 40_000;

/**
 * Makes the search attributes and every schedule that is missing. A missing reconciler means that
 * this namespace has never been used or was lost, so one full pass over everything that waits is
 * started first: a crash in between then starts it again, where the other order would forget it.
 *
 * A program whose schedule cannot be made (a Temporal with older zone data does not know its zone)
 * is logged and does not keep the others from theirs. Throws after the last program if any failed.
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

/** How soon after a failure, and how long after a success, the schedules are looked at again. */
const againMs = { failed: 5_000, ensured: 3_600_000 };

/**
 * Ensures the schedules now, and again and again: a server starts while Temporal or the store is
 * away, and a schedule that was deleted, or could not be made with its program, comes back within
 * the hour. Returns how to stop.
 */
export function keepEnsuringSchedules(workflows: TemporalWorkflows, reader: Reader): () => void {
  const { log } = workflows.link;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  async function attempt(): Promise<void> {
    let pause = againMs.ensured;
    try {
      await ensureSchedules(workflows, reader);
    } catch (error) {
      if (stopped) return;
      log.warn({ err: error }, "schedules could not be made yet");
      pause = againMs.failed;
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
 * The monthly schedule of a program, in its zone: at 00:00:10, when the month has begun by every
 * clock, and at 01:00:10 for what the index did not show yet. Where a clock change skips the hour
 * after midnight, Temporal leaves out the first run, and the second comes 10 s after the month's
 * start; where that hour comes twice, the first run does, too. One run waits while another is at
 * work, because the later one sees more; a year of missed ones is caught up, and one run settles
 * all months.
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
    // The next minute does what a skipped or missed one would have done.
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
