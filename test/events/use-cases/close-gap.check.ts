/** Closes gaps from the tables of random workloads, and compares a consumer's copy with them. */
import { beforeAll, describe, expect, test } from "vitest";
import { type StoredRecord, streamedTables } from "../../../src/events/ports/changes.ts";
import type { ChangeEvent } from "../../../src/events/rules/change-event.ts";
import { eventsOf } from "../../../src/events/rules/events-of.ts";
import { closeGap } from "../../../src/events/use-cases/close-gap.ts";
import { eventsSince, type RecordDeps } from "../../../src/events/use-cases/events-since.ts";
import { targetRef } from "../../../src/feed/ports/records.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { accountRef, entryRef, programRef } from "../../../src/points/ports/records.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { createRecordScan } from "../../../src/store/record-scan.ts";
import { addToCopy, copyOfRecords, withoutGoneLines } from "../../support/events/copy-of-events.ts";
import { program } from "../../support/fixtures/ledger-fixture.ts";
import { account, entry, reservation } from "../../support/fixtures/stored-points.ts";
import { range, target } from "../../support/fixtures/stored-reactions.ts";
import { randomFrom } from "../../support/models/random.ts";
import { send } from "../../support/models/restore-play.ts";
import { begin, createWorkload, deletion } from "../../support/models/restore-workload.ts";
import { type MemoryDeps, memoryDeps } from "../../support/stores/memory-store.ts";
import { fill, write } from "../../support/stores/records.ts";

const streamedKinds: readonly string[] = [
  ...["program", "entry", "reservation", "hold", "bulkGrant"],
  ...["target", "unreadGroup", "readGroup"],
];

const running = new AbortController().signal;

const depsOf = ({ deps, store }: MemoryDeps): RecordDeps => ({
  reader: deps.reader,
  programs: deps.programs,
  recordScan: createRecordScan(store.client, tableName("")),
});

/** The records of streamed kinds as a store in memory has them. */
const recordsOf = ({ store }: MemoryDeps): StoredRecord[] =>
  store
    .stored()
    .filter(({ ref }) => streamedKinds.includes(ref.kind))
    .map(({ ref, value, version }) => ({ ...ref, value, version }) as StoredRecord);

/** The events that the tables have of all gaps since a time. */
async function eventsOfGaps(deps: RecordDeps, startTime: number): Promise<ChangeEvent[]> {
  const events: ChangeEvent[] = [];
  for (const table of streamedTables) {
    const gap = { table, startTime, endTime: startTime, eventCount: 0 };
    await closeGap(deps, gap, async (page) => void events.push(...page), running);
  }
  return events;
}

/** Notes the ids that a stream gives to the changes of a store, whose records it compares. */
function followIds(memory: MemoryDeps) {
  const ids = new Set<string>();
  let known = new Map<string, StoredRecord>();
  const look = () => {
    const found = new Map(recordsOf(memory).map((each) => [`${each.kind} ${each.id}`, each]));
    for (const [name, after] of found) {
      const before = known.get(name);
      if (before?.version === after.version) continue;
      const change = { table: "", time: 0, before: before ? [before] : [], after: [after] };
      for (const { id } of eventsOf({ ...change, isExpiry: false }, () => undefined)) ids.add(id);
    }
    known = found;
  };
  return { ids, look };
}

/** The numbers of the entries of each account in the order in which they came. */
function numbersOf(events: readonly ChangeEvent[]): Map<string, number[]> {
  const numbers = new Map<string, number[]>();
  for (const { subject, data } of events) {
    if (data.kind !== "entry") continue;
    numbers.set(subject, [...(numbers.get(subject) ?? []), data.entry.number]);
  }
  return numbers;
}

test.each([1, 2, 3, 4, 5, 6])(
  "a copy that ends with a gap equals the tables when it is closed, workload %i",
  async (seed) => {
    const random = randomFrom(seed);
    const memory = memoryDeps({ random });
    const workload = createWorkload(random, 60);
    const stream = followIds(memory);
    const slowly = () => {
      stream.look();
      memory.clock.time += lateEntriesMs / 4;
    };
    await begin(memory.deps);
    const prefix = Math.floor(random() * workload.length);
    await send(memory.deps, workload.slice(0, prefix), slowly);
    const copy = copyOfRecords(recordsOf(memory));
    slowly();
    const startTime = memory.clock.time;
    await send(memory.deps, [...workload.slice(prefix), [deletion]], slowly);

    const events = await eventsOfGaps(depsOf(memory), startTime);
    stream.look();
    expect(events.map(({ id }) => id).filter((id) => !stream.ids.has(id))).toEqual([]);
    const tables = copyOfRecords(recordsOf(memory));
    expect(withoutGoneLines(addToCopy(copy, events), tables)).toEqual(tables);
    for (const numbers of numbersOf(events).values()) {
      expect(numbers).toEqual(range(numbers[0] as number, numbers.at(-1) as number));
    }
    // What has not changed since is left out, where a record says when it has changed.
    const times = events.flatMap(({ data, time }) => (data.kind === "hold" ? [time] : []));
    expect(times.filter((time) => time < startTime - lateEntriesMs)).toEqual([]);
  },
);

/** Fills a store with ledgers and records of several pages each. Returns the last entries. */
async function fillPages(memory: MemoryDeps): Promise<Map<string, number>> {
  const lasts = new Map<string, number>();
  const { store } = memory;
  store.force(programRef("p"), program(12));
  const random = randomFrom(7);
  for (let i = 0; i < 40; i++) {
    const userId = `u-${i}`;
    const last = 1 + Math.floor(random() * (i % 8 === 0 ? 400 : 20));
    lasts.set(`points/p/${userId}`, last);
    for (let from = 1; from <= last; ) {
      const to = Math.min(from + Math.floor(random() * 10), last);
      const numbers = Array.from({ length: to - from + 1 }, (_, k) => from + k);
      const entries = numbers.map((number) =>
        write(entryRef("p", userId, number), entry(number, { createTime: 1_000 + number })),
      );
      await store.itemStore.commit(entries, `${i} ${from}`);
      from = to + 1;
    }
    const value = account("p", userId, { last, time: 1_000 + last });
    await fill(store.itemStore, [write(accountRef("p", userId), value)]);
  }
  for (let i = 0; i < 2_500; i++) {
    const name = { type: "post", id: `t-${i}` };
    store.force(targetRef(name), target(name));
    store.force(reservationRef("p", `r-${i}`), reservation("p", `r-${i}`, { updateTime: i }));
  }
  return lasts;
}

describe("with tables of many pages", () => {
  const memory = memoryDeps();
  const deps = depsOf(memory);
  const startTime = lateEntriesMs + 1_010;
  let lasts: Map<string, number>;
  beforeAll(async () => {
    lasts = await fillPages(memory);
  });

  const all = async () => {
    const events: ChangeEvent[] = [];
    const cursors: string[] = [];
    const emit = async (page: readonly ChangeEvent[], cursor: string) => {
      events.push(...page);
      cursors.push(cursor);
    };
    await eventsSince(deps, streamedTables, startTime, undefined, emit, running);
    return { events, cursors };
  };

  test("what was killed at any page goes on there, and tells nothing twice", async () => {
    const { events, cursors } = await all();
    const ids = events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(cursors.length).toBeGreaterThan(8);
    for (let killed = 0; killed < cursors.length; killed++) {
      const found: string[] = [];
      let [kept, pages]: [string | undefined, number] = [undefined, 0];
      const emit = async (page: readonly ChangeEvent[], cursor: string) => {
        if (pages++ === killed) throw new Error("killed");
        found.push(...page.map(({ id }) => id));
        kept = cursor;
      };
      const resume = () => eventsSince(deps, streamedTables, startTime, kept, emit, running);
      await expect(resume()).rejects.toThrow("killed");
      await resume();
      expect(found).toEqual(ids);
    }
  });

  test("behind the last cursor there is nothing", async () => {
    const { cursors } = await all();
    const emit = async () => {
      throw new Error("there is a page");
    };
    await eventsSince(deps, streamedTables, startTime, cursors.at(-1), emit, running);
  });

  test("it reads nothing more when the writer has to end", async () => {
    const ending = new AbortController();
    let pages = 0;
    const emit = async () => {
      pages += 1;
      ending.abort();
    };
    const closing = eventsSince(deps, streamedTables, startTime, undefined, emit, ending.signal);
    await expect(closing).rejects.toThrow("aborted");
    expect(pages).toBe(1);
  });

  test("only records that may have changed since are told, and all targets", async () => {
    const { events } = await all();
    const count = (kind: string) => events.filter(({ data }) => data.kind === kind).length;
    expect(count("reservation")).toBe(2_500 - 1_010);
    expect(count("target")).toBe(2_500);
    expect(count("program")).toBe(1);
    const numbers = numbersOf(events);
    const changed = [...lasts].filter(([, last]) => last >= 10);
    expect([...numbers.keys()].sort()).toEqual(changed.map(([subject]) => subject).sort());
    for (const [subject, last] of changed) {
      const [first = Number.NaN] = numbers.get(subject) ?? [];
      expect(first).toBeLessThanOrEqual(10);
      expect(numbers.get(subject)).toEqual(range(first, last));
    }
  });

  test("a limit that an entry has crossed is told with it", async () => {
    memory.store.force(programRef("p"), program(12, { balanceLimits: { below: [], above: [5] } }));
    const { events } = await all();
    const crossed = events.filter(({ type }) => type === "points.balance_crossed");
    expect(crossed.length).toBe(events.filter(({ data }) => data.kind === "entry").length);
  });
});
