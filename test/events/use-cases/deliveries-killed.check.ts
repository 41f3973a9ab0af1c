/** Tests that nothing is lost and that order is kept when processes are killed at any moment. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Destination } from "../../../src/events/ports/deliveries.ts";
import { deliverEvents } from "../../../src/events/use-cases/deliver-events.ts";
import { soon, workOf } from "../../support/fixtures/deliveries.ts";
import { createListedLog, entryEvent } from "../../support/fixtures/listed-events.ts";
import { randomFrom } from "../../support/models/random.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const users = ["aoi", "bob", "chie", "dai", "emi"];
const eventCount = 120;

/** All have arrived long before, unless some are lost. */
const maxKills = 100;

/** A log with events of some users in batches of random sizes. */
function randomLog(random: () => number) {
  const log = createListedLog();
  const numbers = new Map<string, number>();
  const events = Array.from({ length: eventCount }, () => {
    const user = users[Math.floor(random() * users.length)] ?? "";
    const number = (numbers.get(user) ?? 0) + 1;
    numbers.set(user, number);
    return entryEvent(user, number);
  });
  while (events.length > 0) log.append(...events.splice(0, Math.floor(random() * 12)));
  return { log, numbers };
}

/** Takes events late, refuses some, and loses the answers about others. */
function flaky(random: () => number, arrived: string[], maxEvents: number): Destination {
  return {
    maxEvents,
    async send(events, signal) {
      for (let i = Math.floor(random() * 4); i > 0; i--) await turn();
      if (random() < 0.1 || signal.aborted) throw new Error("lost before");
      const refused = events.map(() => random() < 0.15);
      for (const [i, { text }] of events.entries())
        if (!refused[i]) arrived.push(JSON.parse(text).id);
      for (let i = Math.floor(random() * 4); i > 0; i--) await turn();
      if (random() < 0.1) throw new Error("lost after");
      return refused.map((isRefused) => (isRefused ? { reason: "answered 500" } : undefined));
    },
    close() {},
  };
}

test.each(Array.from({ length: 12 }, (_, i) => i + 1))("seed %i", async (seed) => {
  const random = randomFrom(seed);
  const memory = memoryDeps();
  const { log, numbers } = randomLog(random);
  const arrived: string[] = [];
  for (let kills = 0; new Set(arrived).size < eventCount && kills < maxKills; kills++) {
    const work = workOf(memory.process(), log, flaky(random, arrived, seed % 2 ? 1 : 10));
    const killing = new AbortController();
    const { progress } = work;
    const save: typeof progress.save = async (state) => {
      if (killing.signal.aborted) throw new Error("killed");
      return progress.save(state);
    };
    const timing = { ...soon, drainMs: 0 };
    const running = deliverEvents(
      { ...work, timing, progress: { ...progress, save } },
      killing.signal,
    );
    // Later ones live longer, so that the work comes to an end.
    for (let i = Math.floor(random() * 40 * (kills + 1)); i > 0; i--) await turn();
    killing.abort();
    await running.catch(() => {});
  }
  for (const [user, count] of numbers) {
    const first = [...new Set(arrived)].filter((id) => id.includes(`/${user}/`));
    const all = Array.from({ length: count }, (_, i) => `points/default/${user}/${i + 1}`);
    expect(first).toEqual(all);
  }
});
