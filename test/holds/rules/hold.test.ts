/** Tests the limits of holds. The points model tests what they do to months and totals. */
import { expect, test } from "vitest";
import {
  capture,
  capturesLeftOf,
  entryOfEvent,
  type Hold,
  hold,
  holdOfEvent,
  isDue,
  isInHold,
  maxCaptures,
  release,
  timeOut,
} from "../../../src/holds/rules/hold.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { availablePointsOf } from "../../../src/points/rules/account.ts";
import { grant, maxBalance } from "../../../src/points/rules/points.ts";
import { day, event, program } from "../../support/fixtures/ledger-fixture.ts";

const now = day("2026-01-15");
const minute = 60_000;
const why = { reason: "", caller: asService("shop"), wall: now };

const empty = { program: program(3), userId: "u", now };
const granted = {
  ...empty,
  account: grant({ ...empty, account: undefined }, event("g"), 100).account,
};

const what = (until = now + minute) => ({
  ...{ holdId: "h", hash: "1:x", until, ...why },
  expiredPointsPolicy: "ORIGINAL_EXPIRY" as const,
});

const refused = (work: () => unknown): [string, unknown] => {
  try {
    work();
  } catch (error) {
    if (error instanceof DomainError) return [error.reason, error.metadata];
  }
  return expect.unreachable();
};

test("a hold lasts a whole number of milliseconds from a minute to 90 days", () => {
  const days = 90 * 24 * 60 * minute;
  for (const until of [now + minute, now + days]) {
    expect(hold(granted, what(until), 10, false).hold.until).toBe(until);
  }
  for (const until of [now + minute - 1, now + days + 1, now + minute + 0.5, Number.NaN]) {
    expect(refused(() => hold(granted, what(until), 10, false))).toEqual([
      "INVALID_REQUEST",
      { field: "until" },
    ]);
  }
});

test("it is due at its time and not before, unless it has ended", () => {
  const { hold: held, account } = hold(granted, what(), 10, false);
  expect([held.until - 1, held.until].map((wall) => isDue(held, wall))).toEqual([false, true]);
  const { hold: ended } = timeOut({ ...granted, account }, held, held.until);
  expect(isDue(ended, held.until)).toBe(false);
});

test("the points that an account ever holds have a limit", () => {
  const { account } = granted;
  const full = { ...account, totals: { ...account.totals, heldPoints: maxBalance - 9 } };
  expect(hold({ ...granted, account: full }, what(), 9, false).hold.state).toBe("HELD");
  expect(refused(() => hold({ ...granted, account: full }, what(), 10, false))[0]).toBe(
    "LIMIT_EXCEEDED",
  );
});

test("an account from a backup, which never lost the points, does not get them back", () => {
  const { hold: held } = hold(granted, what(), 10, false);
  const request = { ...why, eventId: "c" };
  for (const change of [
    () => capture(granted, held, request, 5, false),
    () => release(granted, held, why),
    () => timeOut(granted, held, held.until),
    () => timeOut({ ...empty, account: undefined }, held, held.until),
  ]) {
    expect(refused(change)).toEqual(["WRONG_STATE", { state: "HELD" }]);
  }
});

test("the last capture has to end the hold, so one that ends it is always possible", () => {
  const first = hold(granted, what(), 10, false);
  const state = { ...granted, account: first.account };
  const request = { ...why, eventId: "c" };
  const last = { ...first.hold, captureCount: maxCaptures - 1 };
  const before = { ...first.hold, captureCount: maxCaptures - 2 };
  const left = (held: Hold) => [held.state, held.captureCount, capturesLeftOf(held)];
  expect(left(first.hold)).toEqual(["HELD", 0, 1_000]);
  expect(left(capture(state, before, request, 4, true).hold)).toEqual(["HELD", 999, 1]);
  expect(refused(() => capture(state, last, request, 4, true))).toEqual([
    "LIMIT_EXCEEDED",
    { limit: "1000" },
  ]);
  const ends = [capture(state, last, request, 4, false), capture(state, last, request, 10, true)];
  for (const { hold: ended } of ends) expect(left(ended)).toEqual(["CAPTURED", 1_000, 0]);
  expect(left(release(state, last, why).hold)).toEqual(["RELEASED", 999, 0]);
  // What is more than left is so at the limit, too.
  expect(refused(() => capture(state, last, request, 11, true))[1]).toEqual({
    capturable_points: "10",
  });
});

test("each event leads to its entry", () => {
  const first = hold(granted, what(), 10, false);
  const request = { ...why, eventId: "a/b" };
  const {
    hold: ended,
    account,
    entries,
  } = capture({ ...granted, account: first.account }, first.hold, request, 4, false);
  expect(availablePointsOf(account)).toBe(96);
  expect(entries.map(({ event: { eventId } }) => eventId)).toEqual(["h/capture/a/b", "h/release"]);
  for (const { number, event: name } of [first.entry, ...entries]) {
    expect(holdOfEvent(name.eventId)).toBe("h");
    const isCapture = name.eventId === "h/capture/a/b";
    expect(isInHold(name)).toBe(!isCapture);
    expect(entryOfEvent(ended, name.eventId)).toBe(isCapture ? undefined : number);
  }
  expect(entryOfEvent(ended, "h/capture/a")).toBeUndefined();
  expect(entryOfEvent(first.hold, "h/release")).toBeUndefined();
});
