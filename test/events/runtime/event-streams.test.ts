/** Tests what many calls and streams that wait for events cost, on a log that counts its reads. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EventPage } from "../../../src/events/ports/event-reads.ts";
import type { LogBatch } from "../../../src/events/ports/log.ts";
import type { Event } from "../../../src/events/published/event.ts";
import { createEventReads } from "../../../src/events/runtime/event-reads.ts";
import { readEvents } from "../../../src/events/use-cases/read-events.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import type { StreamEnd } from "../../../src/platform/ports/streams.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Instant } from "../../../src/platform/words/month.ts";
import { used } from "../../support/fixtures/event-log.ts";

const now = Date.UTC(2026, 0, 15) as Instant;

function createLog() {
  const batches: LogBatch[] = [];
  const counts = { tails: 0, reads: 0, isAway: false };
  /** The reads before this number are not answered. */
  const slow = { before: 0 };
  const served = () => {
    if (counts.isAway) throw new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
  };
  return {
    counts,
    slow,
    append(...events: readonly Event[]) {
      batches.push({ number: batches.length + 1, time: now, events });
    },
    eventLog: {
      async tail() {
        counts.tails += 1;
        served();
        return { logId: "log", number: batches.length, time: now };
      },
      async read(number: number, limit: number) {
        counts.reads += 1;
        served();
        if (number < slow.before) await new Promise(() => {});
        return batches.slice(number - 1, number - 1 + limit);
      },
      find: async () => 1,
    },
  };
}

let log: ReturnType<typeof createLog>;
let deps: Parameters<typeof readEvents>[0];
let leaving: AbortController;

beforeEach(() => {
  log = createLog();
  const clock = { now: async () => ({ calendar: now, wall: now }) };
  const { eventLog } = log;
  const own = { eventLog, clock };
  const logger = createLogger("test", "silent");
  deps = { ...own, ...createEventReads({ ...own, log: logger, maxStreams: 1_000 }) };
  leaving = new AbortController();
});
afterEach(() => {
  leaving.abort();
  deps.eventStreams.close();
});

const isWanted = () => true;
const position = { logId: "log", number: 1, index: 0 };
const call = (service = "shop") => ({ service, signal: leaving.signal });

/** Reads from the beginning of the log, and waits for the first event. */
const wait = (service?: string) => {
  const limits = { events: 10, bytes: 1_000_000 };
  const waitUntil = performance.now() + 30_000;
  return readEvents(deps, { position, isWanted, limits, waitUntil }, call(service));
};

/** Waits until so many calls and streams wait, which is when nothing but the poll reads. */
async function untilOnlyPolled(): Promise<void> {
  for (;;) {
    const before = log.counts.tails;
    while (log.counts.tails < before + 2) await new Promise(setImmediate);
    if (log.counts.tails === before + 2) return;
  }
}

test("a hundred calls that wait cost one loop, and one read of what comes", async () => {
  const pages = Array.from({ length: 100 }, () => wait());
  await untilOnlyPolled();
  const { tails, reads } = log.counts;
  log.append(used("a", 1));
  for (const { events } of await Promise.all(pages)) expect(events).toHaveLength(1);
  expect(log.counts.reads - reads).toBe(1);
  // The poll that has seen the batch, and what the calls ask before they answer.
  expect(log.counts.tails - tails).toBeLessThan(10);
});

test("nothing is read while nobody waits", async () => {
  const page = wait();
  await untilOnlyPolled();
  log.append(used("a", 1));
  await page;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { tails } = log.counts;
  setTimeout(resolve, 500);
  await promise;
  expect(log.counts.tails - tails).toBeLessThanOrEqual(1);
});

test("five hundred streams cost one read of a batch, and turns of their own", async () => {
  const streams = Array.from({ length: 500 }, (_, i) =>
    deps.eventStreams.watch({ isWanted }, call(`service${i % 5}`))[Symbol.asyncIterator](),
  );
  await Promise.all(streams.map((stream) => stream.next()));
  const { reads } = log.counts;
  let [inTurn, most, isOver] = [0, 0, false];
  const next = streams.map((stream) =>
    stream.next().finally(() => {
      inTurn += 1;
      most = Math.max(most, inTurn);
    }),
  );
  setImmediate(function count() {
    inTurn = 0;
    if (!isOver) setImmediate(count);
  });
  log.append(used("a", 1));
  for (const { value } of await Promise.all(next)) {
    expect((value as EventPage).events).toHaveLength(1);
  }
  isOver = true;
  expect(log.counts.reads - reads).toBe(1);
  // Other calls come in between.
  expect(most).toBeLessThan(10);
});

test("a stream whose client does not read reads nothing, and misses nothing", async () => {
  const stream = deps.eventStreams.watch({ isWanted }, call())[Symbol.asyncIterator]();
  await stream.next();
  for (let i = 0; i < 200; i += 1) log.append(used("a", 2 * i + 1), used("a", 2 * i + 2));
  await wait("another");
  const { reads } = log.counts;
  expect(reads).toBeLessThan(5);
  const numbers: string[] = [];
  while (numbers.length < 400) {
    const { value } = await stream.next();
    const { events } = value as EventPage;
    expect(events.length).toBeLessThanOrEqual(100);
    numbers.push(...events.map(({ id }) => id));
  }
  expect(numbers).toEqual(Array.from({ length: 400 }, (_, i) => `points/default/a/${i + 1}`));
});

test("a message of a stream has few large events", async () => {
  for (let i = 1; i <= 100; i += 1) log.append(used("u".repeat(1_000), i));
  const stream = deps.eventStreams.watch({ isWanted, position }, call())[Symbol.asyncIterator]();
  const { events } = (await stream.next()).value as EventPage;
  // Each has its user id three times.
  expect(events.length).toBeLessThanOrEqual(11);
  expect(events.length).toBeGreaterThan(5);
});

test("whoever follows does not wait for those who catch up", async () => {
  for (let i = 1; i <= 100; i += 1) log.append(used("a", i));
  log.slow.before = 50;
  for (let number = 1; number < 50; number += 1) {
    const late = { isWanted, position: { ...position, number } };
    const stream = deps.eventStreams.watch(late, call("late"))[Symbol.asyncIterator]();
    void stream.next();
  }
  const stream = deps.eventStreams.watch({ isWanted }, call())[Symbol.asyncIterator]();
  await stream.next();
  log.append(used("a", 101));
  expect(((await stream.next()).value as EventPage).events).toHaveLength(1);
});

test("a call whose caller has left reads no further", async () => {
  for (let i = 1; i <= 100; i += 1) log.append(used("a", i));
  const limits = { events: 10, bytes: 1_000_000 };
  const read = { position, isWanted: () => false, limits, waitUntil: 0 };
  await readEvents(deps, read, { service: "gone", signal: AbortSignal.abort() });
  expect(log.counts.reads).toBe(0);
});

test("a store that is away for a while ends no wait", async () => {
  const page = wait();
  await untilOnlyPolled();
  log.counts.isAway = true;
  const { tails } = log.counts;
  while (log.counts.tails < tails + 2) await new Promise(setImmediate);
  log.counts.isAway = false;
  log.append(used("a", 1));
  expect((await page).events).toHaveLength(1);
});

test("a service has its share of the calls that wait", async () => {
  const pages = Array.from({ length: 801 }, () =>
    wait().then(
      () => "",
      (error) => error.reason,
    ),
  );
  await untilOnlyPolled();
  const other = wait("another");
  log.append(used("a", 1));
  const refused = (await Promise.all(pages)).filter((reason) => reason !== "");
  expect(refused).toEqual(["TOO_MANY_STREAMS"]);
  expect((await other).events).toHaveLength(1);
});

test("a drain answers the calls that wait, and ends the streams", async () => {
  const page = wait();
  const stream = deps.eventStreams.watch({ isWanted }, call())[Symbol.asyncIterator]();
  await stream.next();
  await untilOnlyPolled();
  deps.eventStreams.drain(0);
  expect(await page).toMatchObject({ events: [], isAtEnd: true });
  expect((await stream.next()).value as StreamEnd).toMatchObject({ end: "DRAINING" });
  expect(await stream.next()).toMatchObject({ done: true });
});
