/**
 * Shows on the real streams of DynamoDB Local that whoever reads or gets events has everything,
 * once and in order, while the processes that make them are killed and lose their lease.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { inGroups } from "../../tools/chaos/wrong.ts";
import { type EventsStack, startEventsStack } from "../support/events/events-stack.ts";
import { playKills } from "../support/events/play.ts";

const seed = 20_261_129;
let stack: EventsStack;

beforeAll(async () => {
  stack = await startEventsStack(seed);
});

afterAll(() => stack.stop());

test("copies by events equal the tables, whatever happens to the events processes", async () => {
  const { wrong, tables, counts } = await playKills(stack, {
    ...{ seed, accounts: 200, steps: 60, kills: 4 },
  });
  expect(inGroups(wrong)).toEqual([]);
  for (const { gaps, events } of Object.values(counts)) {
    expect(gaps).toBe(0);
    expect(events).toBe(counts.read?.events);
  }
  expect(tables.ledgers.size).toBeGreaterThan(200);
});
