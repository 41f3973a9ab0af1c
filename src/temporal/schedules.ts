/** Temporal's schedules of programs and of the reconciler, and the month-end sweep of a program. */

import type { CalendarSpecDescription } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import type { PickUpSource } from "../bulk-grants/ports/bulk-grants.ts";
import type { Reader } from "../hub/deps.ts";
import { endsRunOfSchedule } from "../platform/contract/how-to-end.ts";
import { workflowTypes } from "../platform/contract/workflow-types.ts";
import { allPages } from "../platform/ports/pages.ts";
import type { Link } from "../platform/temporal/connection.ts";
import {
  ensureSchedule,
  isMisplaced,
  type WantedSchedule,
} from "../platform/temporal/ensure-schedule.ts";
import {
  ensureSearchAttributes,
  programKey,
  stateKey,
} from "../platform/temporal/search-attributes.ts";
import { escapeMarkdown } from "../platform/words/markdown.ts";
import { type MonthEndInput, monthEndId } from "../points/contract/month-ends.ts";
import type { Program } from "../points/rules/program.ts";
import type { ReconcilerInput, StartCounts } from "../reservations/contract/payloads.ts";
import {
  fullReconcileHowToEnd,
  fullReconcileId,
  reconcileId,
} from "../reservations/contract/reconciler.ts";
import { compareInstallations, idOfTables, installationMemo } from "./installation.ts";
import type { TemporalWorkflows } from "./temporal-workflows.ts";

/** Some programs and sources have no schedules. */
export class SchedulesMissing extends Error {
  readonly count: number;

  constructor(names: readonly string[]) {
    super(`no schedules for ${names.join(", ")}`);
    this.count = names.length;
  }
}

type StartRuns = () => Promise<StartCounts>;

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** The time limit for search attributes, which a namespace may take long to apply. */
const setupMs = 40_000;

/**
 * Creates missing search attributes and schedules, and updates schedules that differ from what this
 * version and its configuration want. A missing reconciler means that the namespace is new or was
 * lost, so one full pass over all pending reservations is started first: after a crash in between,
 * the schedule is still missing, and the next attempt starts the pass again.
 *
 * If a schedule of a program cannot be ensured (an older Temporal may not know its time zone), logs
 * that and goes on with the other programs, and with the sources whose new files are picked up.
 * Throws at the end if one has failed, and before the next one when `signal` aborts. Throws
 * InstallationsDiffer, with nothing changed, when the namespace belongs to other tables.
 */
export async function ensureSchedules(
  workflows: TemporalWorkflows,
  reader: Pick<Reader, "programs" | "get">,
  pickUps: readonly PickUpSource[] = [],
  signal?: AbortSignal,
): Promise<void> {
  const { link } = workflows;
  const installation = (await compareInstallations(link, reader)) ?? (await idOfTables(reader));
  await link.call(() => ensureSearchAttributes(link.connection, link.namespace), setupMs);
  await ensureReconciler(link, installation);
  const failed: string[] = [];
  for await (const programs of allPages(100, (page) => reader.programs(page))) {
    for (const program of programs) {
      signal?.throwIfAborted();
      try {
        await workflows.ensureMonthEnd(program);
        await workflows.ensureExpiryNotices(program);
      } catch (error) {
        const { programId, timeZone } = program;
        link.log.warn({ err: error, programId, timeZone }, "no schedules for this program");
        failed.push(programId);
      }
    }
  }
  for (const source of pickUps) {
    signal?.throwIfAborted();
    try {
      await workflows.ensurePickUp(source);
    } catch (error) {
      link.log.warn({ err: error, source: source.name }, "no schedule for this source");
      failed.push(source.name);
    }
  }
  if (failed.length > 0) throw new SchedulesMissing(failed);
}

/** Matches the 1st of each month at `hour`:00:10. */
const firstOfMonth = (hour: number, comment: string): CalendarSpecDescription => ({
  second: [{ start: 10, end: 10, step: 1 }],
  minute: [{ start: 0, end: 0, step: 1 }],
  hour: [{ start: hour, end: hour, step: 1 }],
  dayOfMonth: [{ start: 1, end: 1, step: 1 }],
  month: [{ start: "JANUARY", end: "DECEMBER", step: 1 }],
  dayOfWeek: [{ start: "SUNDAY", end: "SATURDAY", step: 1 }],
  // Temporal describes every year as no range.
  year: [],
  comment,
});

/**
 * Ensures the month-end sweep of a program, in its time zone: at 00:00:10, when the month has begun
 * by the clock of every server, and at 01:00:10 for accounts that the index did not show yet. Where
 * a clock change skips the hour after midnight, Temporal skips the first run, and the second one
 * comes 10 s after the month's start; where that hour comes twice, so does the first run. A run
 * waits for the run before it, because it reads a later state of the index. Missed runs of up to a
 * year are caught up; one run expires the points of all months that are due.
 *
 * A run ends after a week, which no sweep takes, so that one that is stuck does not hold up the
 * next month's. The sweep of a huge program continues as new, and each run has its own week.
 */
export async function ensureMonthEnd(link: Link, { programId, timeZone }: Program): Promise<void> {
  await ensureSchedule(link, {
    scheduleId: monthEndId(programId),
    spec: {
      calendars: [firstOfMonth(0, "the month has begun"), firstOfMonth(1, "for late accounts")],
      timezone: timeZone,
    },
    policies: { overlap: "BUFFER_ONE", catchupWindow: 365 * dayMs, pauseOnFailure: false },
    action: {
      type: "startWorkflow",
      workflowType: workflowTypes.monthEnd,
      workflowId: monthEndId(programId),
      taskQueue: link.taskQueue,
      args: [{ program_id: programId }] satisfies [MonthEndInput],
      workflowRunTimeout: 7 * dayMs,
      staticSummary: escapeMarkdown(
        `expire the points of ${programId} whose month has ended (${timeZone})`,
      ),
      staticDetails: endsRunOfSchedule(),
      typedSearchAttributes: new TypedSearchAttributes([
        { key: programKey, value: programId },
        { key: stateKey, value: "RUNNING" },
      ]),
    },
  });
}

/**
 * Ensures the reconciler: a run loops for about an hour and continues as new, and the schedule
 * starts it again within a minute after it has ended in any way. The run timeout ends a run that
 * is stuck. Its memo says to which tables the namespace belongs.
 */
async function ensureReconciler(link: Link, installation: string | undefined): Promise<void> {
  if (await isMisplaced(link, fullReconcileId)) {
    // Terminates and starts in one step, so that a crash in between loses no pass.
    await startFullPass(link, "TERMINATE_EXISTING");
    link.log.info({ workflowId: fullReconcileId }, "a run on another task queue was ended");
  }
  const wanted: WantedSchedule = {
    scheduleId: reconcileId,
    ...(installation && { memo: installationMemo(installation) }),
    spec: { intervals: [{ every: minuteMs, offset: 0 }] },
    // A skipped or missed run needs no replacement: the next one does the same work.
    policies: { overlap: "SKIP", catchupWindow: minuteMs, pauseOnFailure: false },
    action: {
      type: "startWorkflow",
      workflowType: workflowTypes.reconciler,
      workflowId: reconcileId,
      taskQueue: link.taskQueue,
      args: [{}] satisfies [ReconcilerInput],
      workflowRunTimeout: 75 * minuteMs,
      staticSummary: "correct the runs of reservations, holds and bulk grants, every 30 s",
      staticDetails: endsRunOfSchedule(),
    },
  };
  await ensureSchedule(link, wanted, () => startFullPass(link, "USE_EXISTING"));
}

async function startFullPass(
  link: Link,
  workflowIdConflictPolicy: "USE_EXISTING" | "TERMINATE_EXISTING",
): Promise<void> {
  await link.call(() =>
    link.client.workflow.start<StartRuns>(workflowTypes.startRuns, {
      workflowId: fullReconcileId,
      taskQueue: link.taskQueue,
      args: [],
      workflowIdConflictPolicy,
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      staticSummary: "start a run for every pending reservation",
      staticDetails: fullReconcileHowToEnd,
    }),
  );
}
