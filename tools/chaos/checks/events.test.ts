/** Tests that a run is wrong whose events are not what the tables have in the end. */
import { expect, test } from "vitest";
import { streamedTables } from "../../../src/events/ports/changes.ts";
import { EventCopy } from "../../../test/support/events/copy.ts";
import { dismissed, gap, notification } from "../../../test/support/events/hand-made.ts";
import { compareEvents } from "../final-state.ts";
import { wrongEvents } from "./events.ts";

const nothing = { ledgers: new Map(), records: new Map() };
const never = new AbortController().signal;

test("a gap is wrong, because the streams have lost nothing", () => {
  const copy = new EventCopy();
  for (const each of [gap("found"), gap("closed")]) copy.add(each);
  expect(wrongEvents(copy, nothing)).toEqual([
    "1 gaps were found in streams that have lost nothing",
  ]);
});

test("late events are awaited", async () => {
  const copy = new EventCopy();
  copy.add(notification("a", "notification.began", 1, 1));
  let reads = 0;
  const itemsOf = async () => {
    reads++;
    if (reads === streamedTables.length + 1) copy.add(dismissed("a", 1));
    return [];
  };
  expect(await compareEvents({ itemsOf }, copy, 60_000, never)).toEqual([]);
  expect(reads).toBe(2 * streamedTables.length);
});

test("events that do not come are wrong", async () => {
  const copy = new EventCopy();
  copy.add(notification("a", "notification.began", 1, 1));
  expect(await compareEvents({ itemsOf: async () => [] }, copy, 0, never)).toEqual([
    "events: notification owner a: is in the copy only",
  ]);
});
