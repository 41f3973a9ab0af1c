/**
 * Shows on the streams of DynamoDB Local that an outage loses nothing in which the streams lose all
 * that nobody has read: the gaps are found, and closed from the tables.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { streamedTables } from "../../src/events/ports/changes.ts";
import { inGroups } from "../../tools/chaos/wrong.ts";
import { type EventsStack, startEventsStack } from "../support/events/events-stack.ts";
import { playOutage } from "../support/events/play.ts";
import { replaceStream } from "../support/streams/replace-stream.ts";

const seed = 20_261_130;
let stack: EventsStack;

beforeAll(async () => {
  stack = await startEventsStack(seed, { hasOrderedGaps: false });
});

afterAll(() => stack.stop());

test("copies by events equal the tables after an outage that has lost the streams", async () => {
  const { server } = stack;
  const lose = async () => {
    for (const table of streamedTables) await replaceStream(server.dynamo, server.table(table));
  };
  const { wrong, tables, counts } = await playOutage(
    stack,
    { seed, accounts: 200, steps: 60 },
    lose,
  );
  expect(inGroups(wrong)).toEqual([]);
  for (const { gaps } of Object.values(counts)) expect(gaps).toBe(streamedTables.length);
  expect(tables.ledgers.size).toBeGreaterThan(200);
});
