/** Tests the deliveries of many subscriptions: by leases, and none in the way of another. */
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import type { EventLogReader } from "../../../src/events/ports/log.ts";
import { subscriptionRef } from "../../../src/events/ports/records.ts";
import { deliverAll } from "../../../src/events/runtime/deliveries.ts";
import { createSubscriptionMetrics } from "../../../src/events/runtime/subscription-metrics.ts";
import type { Deps } from "../../../src/platform/ports/deps.ts";
import {
  createReceiver,
  everything,
  type Receiver,
  silent,
  soon,
} from "../../support/fixtures/deliveries.ts";
import { createListedLog, entryEvent } from "../../support/fixtures/listed-events.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

/** Delivers to these receivers, by their names, until the test ends or stops it. */
function startProcess(
  deps: Deps,
  eventLog: EventLogReader,
  receivers: Readonly<Record<string, Receiver>>,
  logger = silent,
) {
  const stopping = new AbortController();
  const metrics = createSubscriptionMetrics();
  const subscribed = Object.entries(receivers).map(([name, destination]) => ({
    subscription: everything(name),
    destination,
  }));
  const done = deliverAll(
    {
      deps,
      subscribed,
      eventLog,
      installation: "test",
      metrics,
      logger,
      now: Date.now,
      timing: { ...soon, drainMs: 0 },
    },
    stopping.signal,
  );
  const stop = async () => {
    stopping.abort();
    await done;
  };
  onTestFinished(stop);
  return { stop, metrics };
}

/** A receiver that answers nothing until it is told to end. */
function createHanging(): Receiver {
  const receiver = createReceiver();
  const send: Receiver["send"] = (events, signal) => {
    receiver.waiting.count += events.length;
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("ended")));
    });
  };
  return Object.assign(receiver, { send });
}

test("one that hangs among 50 holds up none of the others", async () => {
  const { deps } = memoryDeps();
  const log = createListedLog();
  const others = Array.from({ length: 49 }, (_, i) => [`s${i}`, createReceiver()] as const);
  const hanging = createHanging();
  const { metrics } = startProcess(deps, log, { hanging, ...Object.fromEntries(others) });
  for (let batch = 0; batch < 20; batch++) {
    log.append(...Array.from({ length: 50 }, (_, i) => entryEvent(`u${i}`, batch + 1)));
  }
  await eventually(async () => {
    expect(others.map(([, { arrived }]) => arrived.length)).toEqual(others.map(() => 1_000));
  });
  expect(hanging.waiting.count).toBe(50);
  expect(hanging.arrived).toEqual([]);
  await eventually(async () => {
    const { values } = await metrics.waiting.get();
    const ofHanging = values.find(({ labels }) => labels.subscription === "hanging");
    expect(ofHanging?.value).toBe(500);
  });
});

test("gauges are of the process that delivers, and counters are there at once", async () => {
  const { deps } = memoryDeps();
  const log = createListedLog();
  const receiver = createReceiver();
  const { stop, metrics } = startProcess(deps, log, { orders: receiver });
  const events = async () => (await metrics.events.get()).values.map(({ value }) => value);
  expect(await events()).toEqual([0]);
  log.append(entryEvent("aoi", 1));
  await eventually(async () => expect(await events()).toEqual([1]));
  await eventually(async () => expect((await metrics.paused.get()).values).toHaveLength(1));
  await stop();
  expect((await metrics.paused.get()).values).toEqual([]);
  expect((await metrics.behind.get()).values).toEqual([]);
});

test("another process goes on at once when one has stopped", async () => {
  const memory = memoryDeps();
  const log = createListedLog();
  const receiver = createReceiver();
  log.append(entryEvent("aoi", 1));
  const first = startProcess(memory.process(), log, { orders: receiver });
  await eventually(async () => expect(receiver.arrived).toHaveLength(1));
  await first.stop();
  log.append(entryEvent("aoi", 2));
  startProcess(memory.process(), log, { orders: receiver });
  await eventually(async () => expect(receiver.arrived).toHaveLength(2));
  const stored = await memory.deps.reader.get(subscriptionRef("orders"));
  expect(stored?.value).toMatchObject({ logId: "log-1" });
});

test("a log that cannot be read is logged once for all, and once when it can again", async () => {
  const { deps } = memoryDeps();
  const log = createListedLog();
  let failures = 0;
  let isAway = false;
  const tail = async () => {
    if (!isAway) return log.tail();
    failures += 1;
    throw new Error("no answer");
  };
  const texts: string[] = [];
  const logger = pino({}, { write: (line: string) => void texts.push(JSON.parse(line).msg) });
  const receivers = { orders: createReceiver(), shop: createReceiver() };
  startProcess(deps, { ...log, tail }, receivers, logger);
  log.append(entryEvent("aoi", 1));
  const arrived = () => Object.values(receivers).map(({ arrived: { length } }) => length);
  await eventually(async () => expect(arrived()).toEqual([1, 1]));
  isAway = true;
  await eventually(async () => expect(failures).toBeGreaterThan(6));
  isAway = false;
  log.append(entryEvent("aoi", 2));
  await eventually(async () => expect(arrived()).toEqual([2, 2]));
  expect(texts.filter((text) => text.includes("log of events"))).toEqual([
    "the log of events cannot be read; trying again",
    "the log of events is read again",
  ]);
});
