/**
 * Plays changes of all services on real streams while the processes that make the events are killed
 * every few seconds and lose their lease. Then the copies of a consumer that crashes, and of a
 * receiver of webhooks that fails, equal the tables: nothing is missing, doubled or out of order.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { inGroups } from "../../tools/chaos/wrong.ts";
import { type EventsStack, startEventsStack } from "../support/events/events-stack.ts";
import { playKills } from "../support/events/play.ts";
import { inForm, soakSeed } from "../support/soak.ts";

const seed = soakSeed(1);
const accounts = inForm({ short: 100, long: 10_000 });
const steps = inForm({ short: 40, long: 400 });
const kills = inForm({ short: 3, long: 60 });
let stack: EventsStack;

beforeAll(async () => {
  stack = await startEventsStack(seed);
});

afterAll(() => stack.stop());

test(`copies of ${accounts} accounts by events equal the tables (${seed})`, async () => {
  const { wrong, tables, counts } = await playKills(stack, { seed, accounts, steps, kills });
  expect(inGroups(wrong)).toEqual([]);
  for (const { gaps, events } of Object.values(counts)) {
    expect(gaps).toBe(0);
    expect(events).toBe(counts.read?.events);
  }
  expect(tables.ledgers.size).toBeGreaterThan(accounts);
});
