/** Makes events again from the tables: of all that they know to have changed since a time. */
import { setTimeout as sleep } from "node:timers/promises";
import { testClockRef } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import { lateEntriesMs } from "../../points/rules/ledger.ts";
import type { StreamedTable } from "../ports/changes.ts";
import type { EventDeps } from "../ports/deps.ts";
import type { ScannedItem } from "../ports/record-scan.ts";
import type { ChangeEvent } from "../rules/change-event.ts";
import { eventsOfStored } from "../rules/events-of.ts";
import { changeUnreadable } from "../rules/notices-of-log.ts";
import { readLimits } from "./balance-limits.ts";
import { recordsSince } from "./records-since.ts";

/** A cursor is handed over at the latest after so many pages without events. */
const maxSilentPages = 50;

export type RecordDeps = Pick<EventDeps, "reader" | "recordScan" | "programs">;

/** The log stores it as JSON, so its property names do not change. */
interface TablesCursor {
  /** The table that is read; undefined when all are. */
  readonly table?: StreamedTable | undefined;
  /** Where reading of the table goes on; undefined at its beginning. */
  readonly at?: string | undefined;
}

/**
 * Emits what the tables know to have changed since `startTime`, table by table: all entries of
 * ledgers, in order for each account, and the present state of each other record. Where a record
 * does not say when it has changed, the time of its event is `startTime`. Goes on behind a cursor
 * that `emit` got before. Between two pages it rests for as long as the last one took, so that a
 * store that has become slow gets fewer reads. Throws what the store and `emit` throw, and when the
 * signal aborts.
 */
export async function eventsSince(
  deps: RecordDeps,
  tables: readonly StreamedTable[],
  startTime: Instant,
  cursor: string | undefined,
  emit: (events: readonly ChangeEvent[], cursor: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const start: TablesCursor = cursor === undefined ? { table: tables[0] } : JSON.parse(cursor);
  const since = await sinceOf(deps, startTime);
  const first = start.table === undefined ? tables.length : tables.indexOf(start.table);
  let { at } = start;
  let silentPages = 0;
  for (const [i, table] of tables.entries()) {
    if (i < first) continue;
    for await (const page of rested(recordsSince(deps, table, since, at), signal)) {
      at = page.cursor;
      const events = await eventsOfItems(deps, table, page.items, startTime);
      silentPages = events.length > 0 ? 0 : silentPages + 1;
      if (silentPages > 0 && silentPages % maxSilentPages > 0) continue;
      const next: TablesCursor = at === undefined ? { table: tables[i + 1] } : { table, at };
      await emit(events, JSON.stringify(next));
    }
  }
}

/**
 * The earliest time of a record whose change came at `startTime` or later: a decision may have been
 * on its way to the store for some minutes. Under a test clock the times of records say nothing
 * about when they were stored.
 */
async function sinceOf({ reader }: RecordDeps, startTime: Instant): Promise<Instant> {
  return (await reader.get(testClockRef)) ? 0 : startTime - lateEntriesMs;
}

/** Rests after each page for as long as it took to read. */
async function* rested<T>(
  pages: AsyncGenerator<T, void>,
  signal: AbortSignal,
): AsyncGenerator<T, void> {
  for (;;) {
    signal.throwIfAborted();
    const started = performance.now();
    const { value, done } = await pages.next();
    if (done) return;
    const tookMs = performance.now() - started;
    yield value;
    await sleep(tookMs, undefined, { signal });
  }
}

/** A record that no event can be made of is named by one of its own, and holds up no other. */
async function eventsOfItems(
  deps: RecordDeps,
  table: StreamedTable,
  items: readonly ScannedItem[],
  time: Instant,
): Promise<readonly ChangeEvent[]> {
  const limitsOf = await readLimits(
    deps,
    items.flatMap(({ records = [] }) => records),
  );
  return items.flatMap(({ keys, records }) => {
    try {
      if (records) return records.flatMap((record) => eventsOfStored(record, time, limitsOf));
    } catch {
      // As an item that cannot be decoded.
    }
    return [changeUnreadable(table, keys, time)];
  });
}
