/** Plays a purchase log: grants and uses points day by day, and ends each month. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Temporal } from "temporal-polyfill";
import { monthEndId } from "../../contract/month-ends.ts";
import { LedgerEntry_Type } from "../../gen/meguri/points/v1/ledger_entry_pb.ts";
import type { Embedded } from "./embedded.ts";
import type { Purchase } from "./purchases.ts";

export const programId = "shop";
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

/** Plays the log day by day under the test clock, and a month-end sweep after each month. */
export async function playPurchases(
  stack: Embedded,
  purchases: readonly Purchase[],
  progress: (line: MonthLine) => void,
): Promise<MonthLine[]> {
  await stack.programs.createProgram({ programId, timeZone, lifetimeMonths });
  const days = Map.groupBy(purchases, ({ time }) => zoned(time).toPlainDate().toString());
  const first = zoned((purchases[0] as Purchase).time)
    .toPlainDate()
    .toPlainYearMonth();
  const last = zoned((purchases.at(-1) as Purchase).time)
    .toPlainDate()
    .toPlainYearMonth();
  const lines: MonthLine[] = [];
  for (let month = first; ; month = month.add({ months: 1 })) {
    const line = { month: month.toString(), purchases: 0, granted: 0, used: 0, expired: 0 };
    for (const [day, bought] of days) {
      if (day.startsWith(line.month)) await playDay(stack, bought, line);
    }
    lines.push(line);
    const played =
      lines.length >= monthsPlayed && Temporal.PlainYearMonth.compare(month, last) >= 0;
    await setTime(stack, startOf(month.add({ months: 1 })));
    await endMonth(stack);
    progress(line);
    if (played) break;
  }
  await countExpired(stack, purchases, lines);
  return lines;
}

/** Customers buy concurrently; the purchases of each customer stay in their order. */
async function playDay(stack: Embedded, bought: Purchase[], line: MonthLine): Promise<void> {
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
    workflowId: `${monthEndId(programId)}/demo`,
    taskQueue,
    args: [{ program_id: programId }],
  });
}

/** Adds up the EXPIRED entries by the month in which they expired. */
async function countExpired(
  { points }: Embedded,
  purchases: readonly Purchase[],
  lines: MonthLine[],
): Promise<void> {
  for (const userId of new Set(purchases.map(({ customer }) => customer))) {
    let pageToken = "";
    do {
      const page = await points.listLedgerEntries({
        programId,
        userId,
        types: [LedgerEntry_Type.EXPIRED],
        pageSize: 200,
        pageToken,
      });
      for (const entry of page.entries) {
        const seconds = Number(entry.effectiveTime?.seconds ?? 0n);
        // Points expire at the first instant of the next month, so a millisecond is subtracted.
        const month = zoned(seconds * 1_000 - 1)
          .toPlainDate()
          .toPlainYearMonth()
          .toString();
        const line = lines.find((one) => one.month === month);
        if (line) line.expired += Number(entry.points);
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }
}

async function setTime({ clock }: Embedded, time: number): Promise<void> {
  await clock.setTime({ time: timestampFromMs(time) });
}

const zoned = (time: number) =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone);

const startOf = (month: Temporal.PlainYearMonth): number =>
  month.toPlainDate({ day: 1 }).toZonedDateTime(timeZone).epochMilliseconds;
