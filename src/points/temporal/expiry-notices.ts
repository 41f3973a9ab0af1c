/** The schedules that notify the members of programs of points that expire soon. */

import type { CalendarSpecDescription } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { endsRunOfSchedule } from "../../platform/contract/how-to-end.ts";
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { ensureSchedule } from "../../platform/temporal/ensure-schedule.ts";
import { programKey, stateKey } from "../../platform/temporal/search-attributes.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import { type ExpiryNoticesInput, expiryNoticesId } from "../contract/notices.ts";
import type { Program } from "../rules/program.ts";

const dayMs = 86_400_000;

type Months = CalendarSpecDescription["month"];

/** The months by their length. */
const monthsOf: ReadonlyMap<number, Months> = new Map([
  [
    31,
    [
      { start: "JANUARY", end: "JULY", step: 2 },
      { start: "AUGUST", end: "DECEMBER", step: 2 },
    ],
  ],
  [
    30,
    [
      { start: "APRIL", end: "JUNE", step: 2 },
      { start: "SEPTEMBER", end: "NOVEMBER", step: 2 },
    ],
  ],
  [28, [{ start: "FEBRUARY", end: "FEBRUARY", step: 1 }]],
]);

/** Matches 10:00:00 of the day that lies `days` before the end of months with this length. */
const daysBeforeEnd = (days: number, length: number, month: Months): CalendarSpecDescription => ({
  second: [{ start: 0, end: 0, step: 1 }],
  minute: [{ start: 0, end: 0, step: 1 }],
  hour: [{ start: 10, end: 10, step: 1 }],
  dayOfMonth: [{ start: length + 1 - days, end: length + 1 - days, step: 1 }],
  month,
  dayOfWeek: [{ start: "SUNDAY", end: "SATURDAY", step: 1 }],
  // Temporal describes every year as no range.
  year: [],
  comment: `${days} days before a month of ${length} days ends`,
});

/**
 * Ensures the notices of expiry of a program, at 10:00 in its time zone, `expiryDays` days before
 * each month ends: with 7 days on the 25th of a month of 31 days. February counts as a month of 28
 * days, so that in a leap year its run comes one day earlier before the end. A missed run is caught
 * up until the points expire; a run after that notifies nobody. A run ends when they have expired.
 *
 * A program without such notices gets no schedule. One that exists from before stays: its run reads
 * the program and notifies nobody.
 */
export async function ensureExpiryNotices(
  link: Link,
  { programId, timeZone, notices }: Program,
): Promise<void> {
  const days = notices?.expiryDays ?? 0;
  if (days === 0) return;
  await ensureSchedule(link, {
    scheduleId: expiryNoticesId(programId),
    spec: {
      calendars: [...monthsOf].map(([length, months]) => daysBeforeEnd(days, length, months)),
      timezone: timeZone,
    },
    policies: { overlap: "BUFFER_ONE", catchupWindow: days * dayMs, pauseOnFailure: false },
    action: {
      type: "startWorkflow",
      workflowType: workflowTypes.expiryNotices,
      workflowId: expiryNoticesId(programId),
      taskQueue: link.taskQueue,
      args: [{ program_id: programId }] satisfies [ExpiryNoticesInput],
      workflowRunTimeout: (days + 1) * dayMs,
      staticSummary: escapeMarkdown(
        `notify members of ${programId} of points that expire soon (${timeZone})`,
      ),
      staticDetails: endsRunOfSchedule(),
      typedSearchAttributes: new TypedSearchAttributes([
        { key: programKey, value: programId },
        { key: stateKey, value: "RUNNING" },
      ]),
    },
  });
}
