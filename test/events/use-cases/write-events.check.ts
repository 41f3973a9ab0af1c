/** Tests of the writer of the log: nothing is lost, doubled or out of order, whoever is killed. */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StoredChange, StreamedTable } from "../../../src/events/ports/changes.ts";
import type { EventLog, LogState } from "../../../src/events/ports/log.ts";
import type { Event } from "../../../src/events/published/event.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { StaleWriter } from "../../../src/events/use-cases/log-appends.ts";
import { writeEvents } from "../../../src/events/use-cases/write-events.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { parseMonth } from "../../../src/platform/words/month.ts";
import { entryRef } from "../../../src/points/ports/records.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { createRecordScan } from "../../../src/store/record-scan.ts";
import {
  positionBehind,
  type ScriptedShard,
  type ScriptedStreams,
  scriptedStreams,
} from "../../support/events/scripted-streams.ts";
import "../../support/fixed-seed.ts";
import { reservation } from "../../support/fixtures/stored-points.ts";
import { randomFrom } from "../../support/models/random.ts";
import { type MemoryDeps, memoryDeps } from "../../support/stores/memory-store.ts";

const dayMs = 24 * 3_600_000;
const time = Date.now();

const entryOf = (userId: string, number: number, reason = ""): StoredChange => ({
  ...{ table: "points", time, before: [], isExpiry: false },
  after: [
    {
      ...entryRef("p", userId, number),
      version: 1,
      value: {
        ...{ number, type: "ISSUED", event: { origin: "c", eventId: `e-${number}` } },
        ...{ createTime: time, effectiveTime: time, points: 1 },
        ...{ changes: [{ month: parseMonth("2026-01"), points: 1 }], frozen: false },
        ...{ availablePoints: number, caller: asService("shop"), reason },
      },
    },
  ],
});

/** A shard whose changes are the entries of one user. */
const ledgerOf = (userId: string, count: number, reason?: string): ScriptedShard => ({
  ...{ shard: `shard-${userId}`, table: "points" },
  changes: Array.from({ length: count }, (_, i) => entryOf(userId, i + 1, reason)),
});

const wanted = ({ shard, changes }: ScriptedShard): readonly string[] =>
  changes.map((_, i) => `points/p/${shard.slice("shard-".length)}/${i + 1}`);

interface Writer {
  /** Ends when the writer has failed, or has been stopped. */
  readonly ended: Promise<"stale" | "killed" | "stopped">;
  stop(): void;
}

/** Creates processes that write the log of one store. */
function createStore() {
  const { store, process }: MemoryDeps = memoryDeps();
  const names = tableName("");
  const openLog = () => createEventLog(store.client, "events");
  const told = { appended: 0, unreadable: [] as string[], gaps: 0 };

  /** Starts a writer whose log may fail at any append. */
  function start(streams: ScriptedStreams, wrap = (log: EventLog): EventLog => log): Writer {
    const stopping = new AbortController();
    const deps = {
      ...process(),
      eventLog: wrap(openLog()),
      recordScan: createRecordScan(store.client, names),
      changeStreams: streams,
    };
    const observers = {
      onAppended: (_: StreamedTable, count: number) => {
        told.appended += count;
      },
      onUnreadable: (_: StreamedTable, item: string) => void told.unreadable.push(item),
      onGap: () => {
        told.gaps += 1;
      },
    };
    const writing = { installation: "i", observers, timing: { batchMs: 0, stateMs: 60_000 } };
    const ended = writeEvents(deps, writing, stopping.signal).then(
      () => "stopped" as const,
      (error: unknown) => {
        if (error instanceof StaleWriter) return "stale" as const;
        if (error instanceof Killed) return "killed" as const;
        throw error;
      },
    );
    return { ended, stop: () => stopping.abort() };
  }

  /** Writes until all shards are read. */
  async function finish(streams: ScriptedStreams): Promise<void> {
    const writer = start(streams);
    await Promise.race([streams.readToEnd, writer.ended]);
    writer.stop();
    expect(await writer.ended).toBe("stopped");
  }

  async function allEvents(): Promise<Event[]> {
    const log = openLog();
    const { number = 0 } = (await log.tail()) ?? {};
    const events: Event[] = [];
    for (let next = 1; next <= number; next++) {
      events.push(...((await log.read(next, 1))[0]?.events ?? []));
    }
    return events;
  }
  const state = async (): Promise<LogState> => {
    const log = openLog();
    return log.state(await log.begin());
  };
  return { store, start, finish, allEvents, openLog, state, told };
}

class Killed extends Error {}

/** A log whose process is killed at random: before an append, or behind it. */
const killedAtRandom =
  (random: () => number) =>
  (log: EventLog): EventLog => ({
    ...log,
    async append(batch, state) {
      if (random() < 0.15) throw new Killed("before");
      const isAppended = await log.append(batch, state);
      if (random() < 0.15) throw new Killed("behind");
      return isAppended;
    },
  });

test("whoever is killed, stopped or overtaken, each event is in the log once and in order", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
      fc.array(fc.constantFrom("one", "two"), { maxLength: 6 }),
      fc.nat(),
      async (counts, sessions, seed) => {
        const random = randomFrom(seed);
        const shards = counts.map((count, i) => ledgerOf(`u${i}`, count));
        const { start, finish, allEvents } = createStore();
        for (const session of sessions) {
          const streams = [scriptedStreams(shards, random), scriptedStreams(shards, random)];
          const writers = streams
            .slice(session === "one" ? 1 : 0)
            .map((each) => ({ streams: each, ...start(each, killedAtRandom(random)) }));
          await Promise.all(
            writers.map(async ({ streams, ended, stop }) => {
              await Promise.race([streams.readToEnd, ended]);
              stop();
              await ended;
            }),
          );
        }
        await finish(scriptedStreams(shards, random));
        const ids = (await allEvents()).map(({ id }) => id);
        expect(ids).toHaveLength(counts.reduce((sum, count) => sum + count, 0));
        for (const shard of shards) {
          const own = new Set(wanted(shard));
          expect(ids.filter((id) => own.has(id))).toEqual(wanted(shard));
        }
      },
    ),
    { numRuns: 60 },
  ));

test("a writer that was paused while another one took over appends nothing any more", async () => {
  const { start, finish, allEvents } = createStore();
  const shard = ledgerOf("u", 40);
  const held = Promise.withResolvers<void>();
  const paused = Promise.withResolvers<void>();
  const stale = start(scriptedStreams([shard], randomFrom(1)), (log) => ({
    ...log,
    async append(batch, state) {
      if (batch.number === 2) {
        paused.resolve();
        await held.promise;
      }
      return log.append(batch, state);
    },
  }));
  await paused.promise;
  await finish(scriptedStreams([shard], randomFrom(2)));
  held.resolve();
  expect(await stale.ended).toBe("stale");
  expect((await allEvents()).map(({ id }) => id)).toEqual(wanted(shard));
});

test("what does not fit into one batch is split between changes", async () => {
  const { start, finish, allEvents, openLog, state } = createStore();
  const shard = ledgerOf("u", 900, "x".repeat(1_000));
  const whole = () => scriptedStreams([shard], () => 0.99, 900);
  const killed = start(whole(), (log) => ({
    ...log,
    async append(batch, next) {
      if (batch.number === 3) throw new Killed("before the third");
      return log.append(batch, next);
    },
  }));
  expect(await killed.ended).toBe("killed");
  const some = (await allEvents()).length;
  expect(some).toBeGreaterThan(200);
  expect(some).toBeLessThan(900);
  expect((await state()).positions).toEqual({ "shard-u": positionBehind(shard, some) });
  await finish(whole());
  expect((await allEvents()).map(({ id }) => id)).toEqual(wanted(shard));
  expect((await openLog().tail())?.number).toBeGreaterThan(3);
});

test("a change that cannot be read is told, and holds up nothing", async () => {
  const { finish, allEvents, told } = createStore();
  const [first, second] = ledgerOf("u", 2).changes as [StoredChange, StoredChange];
  const undecoded = { ...first, after: [], unreadable: "A#p#u L#000000000009" };
  const broken = { ...first, after: [{ ...first.after[0], value: undefined }] };
  const changes = [first, undecoded, broken as unknown as StoredChange, second];
  await finish(scriptedStreams([{ shard: "s", table: "points", changes }], randomFrom(1)));
  const events = await allEvents();
  expect(events.map(({ type }) => type)).toEqual([
    "points.issued",
    "events.change_unreadable",
    "events.change_unreadable",
    "points.issued",
  ]);
  expect(events.slice(1, 3).map(({ data }) => data.value)).toMatchObject([
    { table: "points", itemKey: "A#p#u L#000000000009" },
    { table: "points", itemKey: "entry p#u#1" },
  ]);
  expect(told.unreadable).toEqual(["A#p#u L#000000000009", "entry p#u#1"]);
});

test("the source names the installation and the log", async () => {
  const { finish, allEvents, openLog } = createStore();
  await finish(scriptedStreams([ledgerOf("u", 1)], randomFrom(1)));
  const { logId } = await openLog().begin();
  expect((await allEvents()).map(({ source }) => source)).toEqual([`/meguri/i/${logId}`]);
});

test("a gap is told, closed and noted, and the table is read on from its new shards", async () => {
  const { start, allEvents, state, told } = createStore();
  const gap = { table: "reservations", startTime: time - 2 * dayMs, endTime: time } as const;
  const next = { ...ledgerOf("u", 1), table: "reservations" as const };
  const positions = { "shard-new": positionBehind(next, 0) };
  const old = { "shard-old": positionBehind(next, 1) };
  const streams = scriptedStreams([], randomFrom(1));
  const done = Promise.withResolvers<void>();
  const writer = start({
    ...streams,
    async read(_, take, signal) {
      const [position] = Object.values(old);
      await take({ kind: "changes", changes: [], shard: "shard-old", position: position as never });
      await take({ kind: "gap", gap, positions });
      done.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  });
  await done.promise;
  writer.stop();
  expect(await writer.ended).toBe("stopped");
  expect((await allEvents()).map(({ type }) => type)).toEqual([
    "events.gap_found",
    "events.gap_closed",
  ]);
  expect(await state()).toEqual({ positions, gaps: [] });
  expect(told).toMatchObject({ gaps: 1, appended: 2 });
});

test("an open gap is closed first, and only its table waits for it", async () => {
  const { start, finish, allEvents, openLog, state } = createStore();
  const gap = { table: "bulk", startTime: time - dayMs, endTime: time } as const;
  const bulk: ScriptedShard = { ...ledgerOf("b", 1), table: "bulk" };
  const log = openLog();
  await log.begin();
  const open = { ...gap, cursor: undefined, eventCount: 7 };
  const begun = { number: 1, time, events: [] };
  expect(await log.append(begun, { positions: {}, gaps: [open] })).toBe(true);
  const killed = start(scriptedStreams([ledgerOf("u", 3), bulk], randomFrom(1)), (each) => ({
    ...each,
    async append(batch, next) {
      const isClosed = batch.events.some(({ type }) => type === "events.gap_closed");
      if (isClosed) throw new Killed("before it is closed");
      return each.append(batch, next);
    },
  }));
  expect(await killed.ended).toBe("killed");
  expect((await state()).gaps).toHaveLength(1);
  await finish(scriptedStreams([ledgerOf("u", 3), bulk], randomFrom(2)));
  const ids = (await allEvents()).map(({ id }) => id);
  const closed = ids.indexOf(`events/gap/bulk/${gap.startTime}/closed`);
  expect(closed).toBeGreaterThanOrEqual(0);
  expect(ids.indexOf("points/p/b/1")).toBeGreaterThan(closed);
  expect((await state()).gaps).toEqual([]);
});

test("a record that cannot be published holds no gap open, and is told and counted", async () => {
  const { store, finish, allEvents, openLog, state, told } = createStore();
  for (const [id, points] of [["a", 1] as const, ["b", Number.NaN] as const, ["c", 1] as const]) {
    store.force(reservationRef("p", id), reservation("p", id, { points, updateTime: time }));
  }
  const undecoded = { pk: { S: "p#d" }, v: { N: "1" }, m: { N: "9" } };
  await store.client.send(new PutItemCommand({ TableName: "reservations", Item: undecoded }));
  const gap = { table: "reservations", startTime: time - dayMs, endTime: time } as const;
  const log = openLog();
  await log.begin();
  const begun = { number: 1, time, events: [] };
  await log.append(begun, { positions: {}, gaps: [{ ...gap, eventCount: 0 }] });
  const behind: ScriptedShard = { ...ledgerOf("u", 1), table: "reservations" };
  await finish(scriptedStreams([behind], randomFrom(1)));
  expect((await state()).gaps).toEqual([]);
  const events = await allEvents();
  const unreadable = events.flatMap(({ data }) =>
    data.case === "changeUnreadable" ? [data.value.itemKey] : [],
  );
  expect(unreadable.sort()).toEqual(["p#d", "reservations/p/b/1"]);
  expect(told.unreadable.sort()).toEqual(unreadable);
  expect(events.map(({ id }) => id).filter((id) => /^reservations/.test(id))).toEqual([
    "reservations/p/a/1",
    "reservations/p/c/1",
  ]);
  expect(events.at(-2)?.data).toMatchObject({ case: "gapClosed", value: { eventCount: 4n } });
});
