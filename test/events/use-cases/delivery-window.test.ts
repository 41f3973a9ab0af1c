/** Tests which of the waiting events of a subscription are sent next. */
import { expect, test } from "vitest";
import {
  createDeliveryWindow,
  type WaitingEvent,
} from "../../../src/events/use-cases/delivery-window.ts";
import { entryEvent } from "../../support/fixtures/listed-events.ts";

const position = { logId: "log-1", number: 1, index: 0 };

/** A window with the first entries of `good` users, and of `bad` users that have failed once. */
function windowOf({ good, bad }: { readonly good: number; readonly bad: number }) {
  const window = createDeliveryWindow(position);
  for (let i = 0; i < bad; i += 1) window.add(entryEvent(`bad${i}`, 1), position);
  for (const event of window.take(bad, 0)) window.failed(event, 10);
  for (let i = 0; i < good; i += 1) window.add(entryEvent(`good${i}`, 1), position);
  return window;
}

const hasFailed = ({ failures }: WaitingEvent): boolean => failures > 0;

test("what has failed is sent again, alone, though there are always others", () => {
  const window = windowOf({ good: 20, bad: 2 });
  const taken = Array.from({ length: 5 }, () => {
    // All slots are taken now and then.
    expect(window.take(0, 10)).toEqual([]);
    return window.take(4, 10);
  });
  expect(taken.map((events) => events.map(hasFailed))).toEqual([
    [true],
    [false, false, false, false],
    [true],
    [false, false, false, false],
    [false, false, false, false],
  ]);
});

test("what has failed and gets no answer leaves room for others", () => {
  const window = windowOf({ good: 100, bad: 100 });
  const taken = Array.from({ length: 64 }, () => window.take(1, 10)).flat();
  expect(taken).toHaveLength(64);
  expect(taken.filter(hasFailed)).toHaveLength(16);
});

test("what has failed waits until it is due", () => {
  const window = windowOf({ good: 0, bad: 1 });
  expect(window.nextDueAt()).toBe(10);
  expect(window.take(1, 9)).toEqual([]);
  expect(window.take(1, 10).map(hasFailed)).toEqual([true]);
});
