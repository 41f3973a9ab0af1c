/**
 * The actions that Temporal Cloud bills. A test counts them in the recorded histories; heartbeats,
 * which leave no events, are bounded by how many the SDK sends.
 */

import { rangeCount } from "../../src/bulk-grants/contract/bulk-grants.ts";
import { rowsPerBlock } from "../../src/bulk-grants/rules/sheet.ts";
import { readAheadMs } from "../../src/reservations/use-cases/due-reads.ts";
import { reconcilerTiming, steps } from "../../workflows/timing.ts";

/** The actions of a start by a schedule, beside the start of the run. */
const scheduledStart = 2;

/** The bytes of a reservation's history while it sleeps (`reservation.bytes_asleep`). */
export const reservationBytesAsleep = 968;

/** The actions of one run, from its start to its end. */
export const actions = {
  /** A reservation that sleeps until its time. */
  reservation: 2,
  /** The actions of a reservation that come when it is due. */
  reservationDue: 1,
  cancelledReservation: 4,
  /** One that waits until a call approves it, without the steps over its blocks. */
  bulkGrant: 13,
  monthEnd: 21,
  expiryNotices: 19,
  /** A check for new files that finds none. */
  emptyPickUp: 2,
  /** A pass of the reconciler that finds nothing. */
  reconcilerPass: 2,
} as const;

/** Rows that a validation checks a second, as measured (docs/change/benchmarks.md). */
const checkedRowsPerSecond = 10_000 / 4.5;

/** The most actions of a step over blocks: its activity, and the heartbeats that are sent. */
const stepActions = 1 + Math.ceil(steps.limitMs / steps.sentMs);

/** The most actions of the steps that work on so many rows at this rate. */
function blockActions(rows: number, rowsPerSecond: number): number {
  const ranges = rangeCount(Math.ceil(rows / rowsPerBlock));
  const stepsOfRange = Math.ceil((rows / rowsPerSecond / steps.limitMs) * 1_000);
  return ranges * stepsOfRange * stepActions;
}

/** The most actions of a bulk grant that is validated, approved and executed at this rate. */
export const bulkGrantActions = (rows: number, rowsPerSecond: number): number =>
  actions.bulkGrant + blockActions(rows, checkedRowsPerSecond) + blockActions(rows, rowsPerSecond);

const dayMs = 86_400_000;
/** The passes of the reconciler in a day. */
export const passesPerDay = dayMs / reconcilerTiming.intervalMs;
/** How often a worker reads in a day what may be overdue. */
export const sweepReadsPerDay = dayMs / readAheadMs;
/** The months of a day. */
const monthsPerDay = 12 / 365;

interface IdleDay {
  readonly programs: number;
  /** Programs that notify of points that expire soon. */
  readonly withNotices: number;
  /** Checks of all sources for new files. */
  readonly pickUps: number;
}

/** The actions of a day without calls, by what makes them. */
export function idleDayActions({ programs, withNotices, pickUps }: IdleDay) {
  return {
    /** Its passes, and the runs that continue each other. */
    reconciler: passesPerDay * actions.reconcilerPass + dayMs / reconcilerTiming.runMs,
    /** Two runs a month. */
    monthEnds: 2 * monthsPerDay * programs * (actions.monthEnd + scheduledStart),
    expiryNotices: monthsPerDay * withNotices * (actions.expiryNotices + scheduledStart),
    pickUps: pickUps * (actions.emptyPickUp + scheduledStart),
  };
}

const counted = (number: number): string => Math.round(number).toLocaleString("en");

/** The table of docs/run/temporal-cloud.md. */
export function actionsTable(): string {
  const idle = idleDayActions({ programs: 1, withNotices: 1, pickUps: 24 });
  const rows: [string, string][] = [
    ["a reservation, made and granted when it is due", counted(actions.reservation)],
    ["a reservation that is cancelled", counted(actions.cancelledReservation)],
    ["a bulk grant of 250 rows, at most", counted(bulkGrantActions(250, 100))],
    ["one of 10,000 rows at 100 rows a second, at most", counted(bulkGrantActions(10_000, 100))],
    ["one of 200,000 rows at 100 rows a second, at most", counted(bulkGrantActions(200_000, 100))],
    ["a month end of a program", counted(actions.monthEnd + scheduledStart)],
    [
      "the notices of expiry of a program, a month",
      counted(actions.expiryNotices + scheduledStart),
    ],
    [
      "a check of a source for new files that finds none",
      counted(actions.emptyPickUp + scheduledStart),
    ],
    ["an idle day: the reconciler", counted(idle.reconciler)],
    ["an idle day: the month ends of a program", idle.monthEnds.toFixed(1)],
    ["an idle day: the notices of a program", idle.expiryNotices.toFixed(1)],
    ["an idle day: a source that is checked every hour", counted(idle.pickUps)],
    ["an idle month of one program", counted((idle.reconciler + idle.monthEnds) / monthsPerDay)],
  ];
  const lines = rows.map(([what, value]) => `| ${what} | ${value} |`);
  return ["| what | actions |", "|---|---|", ...lines].join("\n");
}
