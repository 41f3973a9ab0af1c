/** Tests deliveries of one subscription: what arrives, in which order, and what may hinder it. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { Subscription } from "../../../src/events/ports/deliveries.ts";
import { type SubscriptionState, subscriptionRef } from "../../../src/events/ports/records.ts";
import { type Deliveries, deliverEvents } from "../../../src/events/use-cases/deliver-events.ts";
import { Personal } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { changeRecord } from "../../../src/platform/work/change-record.ts";
import { createReceiver, everything, soon, workOf } from "../../support/fixtures/deliveries.ts";
import { createListedLog, entryEvent } from "../../support/fixtures/listed-events.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

/** The entries 1 to `count` of a user, by their numbers. */
const entries = (userId: string, count: number) =>
  Array.from({ length: count }, (_, i) => entryEvent(userId, i + 1));

const numbersOf = (ids: readonly string[], userId: string) =>
  ids.filter((id) => id.includes(`/${userId}/`)).map((id) => Number(id.split("/").at(-1)));

/** Runs deliveries until the test stops them, at the latest at its end. */
function start(work: Deliveries) {
  const stopping = new AbortController();
  const done = deliverEvents(work, stopping.signal);
  const stop = async () => {
    stopping.abort();
    await done;
  };
  onTestFinished(stop);
  return { stop, done };
}

function site(maxEvents = 1, subscription = everything("orders")) {
  const { deps } = memoryDeps();
  const log = createListedLog();
  const receiver = createReceiver(maxEvents);
  const stored = async () => (await deps.reader.get(subscriptionRef("orders")))?.value;
  const work = workOf(deps, log, receiver, subscription);
  return { deps, log, receiver, stored, work };
}

test("delivers all events in order, and stores the position behind them", async () => {
  const { log, receiver, stored, work } = site();
  log.append(...entries("aoi", 3));
  log.append(...entries("bob", 2));
  const { stop } = start(work);
  await eventually(async () => expect(receiver.arrived).toHaveLength(5));
  await stop();
  expect(numbersOf(receiver.arrived, "aoi")).toEqual([1, 2, 3]);
  expect(await stored()).toEqual({ logId: "log-1", number: 3, index: 0, time: 2_000 });
  expect(work.observer).toMatchObject({ counts: { delivered: 5, failed: 0, missed: 0 } });
});

test("goes on where it has stopped", async () => {
  const { log, receiver, work, deps } = site();
  log.append(...entries("aoi", 2));
  const { stop } = start(work);
  await eventually(async () => expect(receiver.arrived).toHaveLength(2));
  await stop();
  log.append(entryEvent("aoi", 3));
  start(workOf(deps, log, receiver));
  await eventually(async () => expect(numbersOf(receiver.arrived, "aoi")).toEqual([1, 2, 3]));
});

test("a new subscription begins now, and keeps that position", async () => {
  const subscription: Subscription = { ...everything("orders"), start: "now" };
  const { log, receiver, work, stored, deps } = site(1, subscription);
  log.append(entryEvent("aoi", 1));
  const { stop } = start(work);
  await eventually(async () => expect(await stored()).toMatchObject({ number: 2, index: 0 }));
  await stop();
  log.append(entryEvent("aoi", 2));
  start(workOf(deps, log, receiver, subscription));
  await eventually(async () => expect(numbersOf(receiver.arrived, "aoi")).toEqual([2]));
});

test("delivers what is wanted, and clears the texts of people unless they are", async () => {
  const subscription: Subscription = {
    ...everything("orders"),
    filter: { types: ["points.issued"], programIds: ["one"] },
  };
  const { log, receiver, work, deps, stored } = site(1, subscription);
  log.append(entryEvent("aoi", 1, "one"), entryEvent("aoi", 1, "two"));
  const { stop } = start(work);
  await eventually(async () => expect(await stored()).toMatchObject({ number: 2 }));
  await stop();
  expect(receiver.arrived).toEqual(["points/one/aoi/1"]);
  expect(receiver.texts[0]).not.toContain("a gift");
  const open = { ...subscription, name: "open", include: [Personal.REASON] };
  start(workOf(deps, log, receiver, open));
  await eventually(async () => expect(receiver.texts[1]).toContain("a gift"));
});

test("an event that fails holds up its subject only", async () => {
  const { log, receiver, work, stored } = site();
  log.append(...entries("aoi", 3), ...entries("bob", 100));
  let isBad = true;
  receiver.answer = async ({ id }) =>
    isBad && id === "points/default/aoi/2" ? { reason: "answered 500" } : undefined;
  start(work);
  await eventually(async () => expect(receiver.arrived).toHaveLength(101));
  expect(numbersOf(receiver.arrived, "aoi")).toEqual([1]);
  await eventually(async () => expect(await stored()).toMatchObject({ number: 1, index: 1 }));
  isBad = false;
  await eventually(async () => expect(numbersOf(receiver.arrived, "aoi")).toEqual([1, 2, 3]));
});

test("what was refused comes alone, so one that is too large holds up no other event", async () => {
  const { log, receiver, work } = site(10);
  const { send } = receiver;
  let requests = 0;
  let withBad = 0;
  const destination: typeof receiver = {
    ...receiver,
    async send(events, signal) {
      requests += 1;
      if (requests < 50) throw new Error("away");
      if (!events.some(({ subject }) => subject === "points/default/bad")) {
        return send(events, signal);
      }
      withBad = Math.max(withBad, events.length);
      throw new Error("too large");
    },
  };
  for (let i = 1; i <= 10; i += 1) {
    const users = ["bad", ...Array.from({ length: 40 }, (_, k) => `u${k}`)];
    log.append(...users.map((user) => entryEvent(user, i)));
  }
  start({ ...work, destination });
  await eventually(async () => expect(receiver.arrived).toHaveLength(400));
  expect(withBad).toBe(1);
});

test("sends up to 64 at once, of each subject one, and reads no more than 500 ahead", async () => {
  const { log, receiver, work } = site();
  const users = Array.from({ length: 700 }, (_, i) => entryEvent(`u${i}`, 1));
  log.append(...entries("aoi", 5), ...users);
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  receiver.answer = async () => void (await gate);
  start(work);
  await eventually(async () => expect(work.observer.shown.at(-1)?.waitingEvents).toBe(500));
  expect(receiver.waiting.count).toBe(64);
  open();
  await eventually(async () => expect(receiver.arrived).toHaveLength(705));
  expect(receiver.waiting.most).toBe(64);
  expect(numbersOf(receiver.arrived, "aoi")).toEqual([1, 2, 3, 4, 5]);
});

test("a destination that fails gets one event at a time until it works", async () => {
  const { log, receiver, work, stored } = site();
  log.append(...Array.from({ length: 200 }, (_, i) => entryEvent(`u${i}`, 1)));
  let isDown = true;
  receiver.answer = async () => {
    await turn();
    return isDown ? { reason: "answered 503" } : undefined;
  };
  start(work);
  await eventually(async () => expect(work.observer.counts.failed).toBeGreaterThan(80));
  receiver.waiting.most = 0;
  const { counts } = work.observer;
  const { failed } = counts;
  await eventually(async () => expect(counts.failed).toBeGreaterThan(failed + 10));
  expect(receiver.waiting.most).toBe(1);
  expect(await stored()).toMatchObject({ failure: "answered 503", number: 1, index: 0 });
  isDown = false;
  await eventually(async () => expect(receiver.arrived).toHaveLength(200));
  await eventually(async () => expect(await stored()).not.toHaveProperty("failingSince"));
});

test("is paused after a time, says so, and goes on by itself", async () => {
  const { log, receiver, work, stored } = site();
  log.append(...entries("aoi", 2));
  let isDown = true;
  receiver.answer = async () => (isDown ? { reason: "no answer: ECONNREFUSED" } : undefined);
  start({ ...work, timing: { ...work.timing, pauseAfterMs: 5 } });
  await eventually(async () =>
    expect(await stored()).toMatchObject({ pausedSince: expect.any(Number) }),
  );
  isDown = false;
  await eventually(async () => expect(receiver.arrived).toHaveLength(2));
  await eventually(async () => expect(await stored()).not.toHaveProperty("pausedSince"));
  expect(work.observer.pauses).toEqual(["no answer: ECONNREFUSED", "resumed"]);
});

test("what is not kept any more is named once, before what follows", async () => {
  const { log, receiver, work, stored, deps } = site();
  log.append(...entries("aoi", 2));
  const { stop } = start(work);
  await eventually(async () => expect(receiver.arrived).toHaveLength(2));
  await stop();
  for (let number = 3; number <= 6; number++) log.append(entryEvent("aoi", number));
  log.trim(4);
  const later = workOf(deps, log, receiver);
  start(later);
  await eventually(async () => expect(receiver.arrived).toHaveLength(5));
  const gap = "events/gap/subscriptions/orders/log-1-2-0";
  expect(receiver.arrived.slice(2)).toContain(gap);
  expect(JSON.parse(receiver.texts[receiver.arrived.indexOf(gap)] ?? "")).toMatchObject({
    type: "events.gap_found",
    data: { table: "events", startTime: "1970-01-01T00:00:01Z", endTime: "1970-01-01T00:00:04Z" },
  });
  expect(numbersOf(receiver.arrived.slice(2), "aoi")).toEqual([5, 6]);
  expect(later.observer).toMatchObject({ counts: { missed: 1 } });
  await eventually(async () => expect(await stored()).toMatchObject({ number: 6 }));
});

test("a position in the log of other tables is a gap, too", async () => {
  const { receiver, deps, work } = site();
  const state: SubscriptionState = { logId: "log-0", number: 9, index: 1 };
  await changeRecord(deps, { ref: subscriptionRef("orders") }, () => state);
  const log = createListedLog("log-2");
  log.append(entryEvent("aoi", 1));
  start({ ...workOf(deps, log, receiver), timing: work.timing });
  await eventually(async () => expect(receiver.arrived).toHaveLength(2));
  expect(receiver.arrived[0]).toBe("events/gap/subscriptions/orders/log-0-9-1");
});

test("ends when another process has stored a position, and leaves that as it is", async () => {
  const { log, receiver, work, stored, deps } = site();
  log.append(...entries("aoi", 2));
  const { done } = start(work);
  await eventually(async () => expect(await stored()).toMatchObject({ number: 2 }));
  const other: SubscriptionState = { logId: "log-1", number: 2, index: 0, failingSince: 7 };
  await changeRecord(deps, { ref: subscriptionRef("orders") }, () => other);
  log.append(...entries("bob", 1));
  await done;
  expect(await stored()).toEqual(other);
  expect(receiver.arrived.length).toBeGreaterThan(1);
});

test("two slow processes that take it from each other all the time get on", async () => {
  const { deps, log, receiver, stored } = site();
  for (let number = 1; number <= 100; number++) log.append(entryEvent("aoi", number));
  receiver.answer = async () => void (await turn());
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const again = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const work = { ...workOf(deps, log, receiver), timing: { ...soon, drainMs: 0 } };
      await deliverEvents(work, stopping.signal);
    }
  };
  const both = Promise.all([again(), again()]);
  await eventually(async () => expect(await stored()).toMatchObject({ number: 101, index: 0 }));
  stopping.abort();
  await both;
  expect(new Set(receiver.arrived).size).toBe(100);
});

test("an answer that does not come is named by its error", async () => {
  const { log, receiver, work, stored } = site();
  log.append(entryEvent("aoi", 1));
  receiver.answer = () => Promise.reject(new DOMException("too late", "TimeoutError"));
  start(work);
  await eventually(async () =>
    expect(await stored()).toMatchObject({ failure: "no answer: TimeoutError" }),
  );
});

test("an event that cannot be written fails like one that is refused", async () => {
  const { log, receiver, work } = site();
  const { data: _, ...rest } = entryEvent("aoi", 1);
  log.append({ ...rest, data: { case: undefined } }, ...entries("bob", 1));
  start(work);
  await eventually(async () => expect(work.observer.counts.failed).toBeGreaterThan(2));
  expect(receiver.arrived).toEqual(["points/default/bob/1"]);
});
