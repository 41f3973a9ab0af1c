/** Plays a purchase log: grants and uses points week by week, and ends each month. */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Temporal } from "temporal-polyfill";
import { LedgerEntry_Type } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { monthEndId } from "../../../src/points/contract/month-ends.ts";
import type { Embedded } from "./embedded.ts";
import type { Purchase } from "./purchases.ts";

export const programId = "shop";
/** The id of the workflow that ends a month, which has one run for each month. */
export const monthEndRunId = `${monthEndId(programId)}/demo`;
const timeZone = "Asia/Tokyo";
const lifetimeMonths = 12;
/** One point is granted for every 100 yen; 500 points are used as soon as a balance has them. */
const yenPerPoint = 100;
const usedAtOnce = 500;
/** The least number of months, so that the points of the first ones expire. */
const monthsPlayed = 14;

/** The purchases of one month, and the points that were moved in it. */
export interface MonthLine {
  readonly month: string;
  purchases: number;
  granted: number;
  used: number;
  expired: number;
}

/**
 * Plays the log under the test clock, which moves on by a week of a month, and a month-end sweep
 * after each month.
 */
export async function playPurchases(
  stack: Embedded,
  purchases: readonly Purchase[],
  progress: (line: MonthLine) => void,
): Promise<MonthLine[]> {
  await stack.programs.createProgram({ programId, timeZone, lifetimeMonths });
  const userIds = new Set(purchases.map(({ customer }) => customer));
  const months = Map.groupBy(purchases, ({ time }) => monthOf(time).toString());
  const first = monthOf((purchases[0] as Purchase).time);
  const last = monthOf((purchases.at(-1) as Purchase).time);
  const lines: MonthLine[] = [];
  for (let month = first; ; month = month.add({ months: 1 })) {
    const line = { month: month.toString(), purchases: 0, granted: 0, used: 0, expired: 0 };
    const weeks = Map.groupBy(months.get(line.month) ?? [], ({ time }) => weekOf(time));
    for (const bought of weeks.values()) await playWeek(stack, bought, line);
    lines.push(line);
    const played =
      lines.length >= monthsPlayed && Temporal.PlainYearMonth.compare(month, last) >= 0;
    const end = startOf(month.add({ months: 1 }));
    await setTime(stack, end);
    await endMonth(stack);
    if (lines.length >= lifetimeMonths) line.expired = await expiredAt(stack, userIds, end);
    progress(line);
    if (played) return lines;
  }
}

/** Customers buy concurrently; the purchases of each customer stay in their order. */
async function playWeek(stack: Embedded, bought: Purchase[], line: MonthLine): Promise<void> {
  await setTime(stack, (bought[0] as Purchase).time);
  const customers = Map.groupBy(bought, ({ customer }) => customer);
  await Promise.all(
    [...customers.values()].map(async (own) => {
      for (const [i, purchase] of own.entries()) await playPurchase(stack, purchase, i, line);
    }),
  );
}

async function playPurchase(
  { points }: Embedded,
  { customer: userId, time, amount }: Purchase,
  index: number,
  line: MonthLine,
): Promise<void> {
  line.purchases += 1;
  const eventId = `purchase-${time}-${index}`;
  const earned = Math.floor(amount / yenPerPoint);
  if (earned === 0) return;
  const granted = await points.grantPoints({
    programId,
    userId,
    eventId,
    points: BigInt(earned),
    reason: `${amount} yen`,
  });
  line.granted += earned;
  if (granted.availablePoints < usedAtOnce) return;
  await points.usePoints({
    programId,
    userId,
    eventId: `${eventId}-use`,
    points: BigInt(usedAtOnce),
  });
  line.used += usedAtOnce;
}

/** Runs the month-end sweep, which the schedule would start when the real month ends. */
async function endMonth({ temporal, taskQueue }: Embedded): Promise<void> {
  await temporal.workflow.execute("monthEnd", {
    workflowId: monthEndRunId,
    taskQueue,
    args: [{ program_id: programId }],
  });
}

/**
 * Adds up what has expired at the end of a month: the newest EXPIRED entry of each customer, if it
 * is of that moment.
 */
async function expiredAt(
  { points }: Embedded,
  userIds: Iterable<string>,
  time: number,
): Promise<number> {
  const types = [LedgerEntry_Type.EXPIRED];
  const newest = await Promise.all(
    Array.from(userIds, async (userId) => {
      const page = await points.listLedgerEntries({ programId, userId, types, pageSize: 1 });
      return page.entries[0];
    }),
  );
  return newest
    .filter((entry) => entry?.effectiveTime && timestampMs(entry.effectiveTime) === time)
    .reduce((sum, entry) => sum + Number(entry?.points ?? 0n), 0);
}

async function setTime({ clock }: Embedded, time: number): Promise<void> {
  await clock.setTime({ time: timestampFromMs(time) });
}

const zoned = (time: number) =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone);

const monthOf = (time: number) => zoned(time).toPlainDate().toPlainYearMonth();

const weekOf = (time: number): number => Math.floor((zoned(time).day - 1) / 7);

const startOf = (month: Temporal.PlainYearMonth): number =>
  month.toPlainDate({ day: 1 }).toZonedDateTime(timeZone).epochMilliseconds;
