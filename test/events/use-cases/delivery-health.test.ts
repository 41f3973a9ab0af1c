/** Tests when a destination that fails is tried again. */
import { beforeEach, expect, test } from "vitest";
import { deliveryTiming } from "../../../src/events/use-cases/deliver-events.ts";
import {
  createDeliveryHealth,
  type DeliveryHealth,
} from "../../../src/events/use-cases/delivery-health.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const failure = { reason: "answered 500" };

let health: DeliveryHealth;
beforeEach(() => {
  health = createDeliveryHealth({}, deliveryTiming);
});

/** Fails so often, each time when it may be tried again, from this time on. Returns the time. */
function fail(count: number, from = 0): number {
  let time = from;
  for (let i = 0; i < count; i++) {
    time = Math.max(time, health.resumeAt());
    health.failed(failure, time);
  }
  return time;
}

/** Whether a time is a given one, give or take the share by which it varies. */
const about = (ms: number, share: number) =>
  expect.toSatisfy((value: number) => value >= ms * (1 - share) && value <= ms * (1 + share));

test("a few failures change nothing for other events", () => {
  fail(7);
  expect([health.maxSending(), health.resumeAt()]).toEqual([64, 0]);
  expect(health.state()).toEqual({ failingSince: 0, failure: "answered 500" });
});

test("with 8 failures in a row one event is sent at a time, less and less often", () => {
  const time = fail(8);
  expect(health.maxSending()).toBe(1);
  expect(health.resumeAt() - time).toEqual(about(1_000, 0.2));
  const later = fail(1, time);
  expect(health.resumeAt() - later).toEqual(about(2_000, 0.2));
  const late = fail(20, later);
  expect(health.resumeAt() - late).toEqual(about(minuteMs, 0.2));
});

test("failures of requests that were sent before a pause do not lengthen it", () => {
  fail(8);
  const resumeAt = health.resumeAt();
  for (let i = 0; i < 56; i++) health.failed(failure, 1);
  expect(health.resumeAt()).toBe(resumeAt);
});

test("a success ends all of it", () => {
  fail(20);
  expect(health.succeeded()).toMatchObject({ failingSince: 0 });
  expect(health.succeeded()).toBeUndefined();
  expect([health.maxSending(), health.resumeAt(), health.state()]).toEqual([64, 0, {}]);
});

test("after a day it is paused, once, and tried every 15 minutes", () => {
  fail(8);
  expect(health.failed(failure, dayMs - 1)).toBe(false);
  expect(health.failed(failure, dayMs)).toBe(true);
  expect(health.state().pausedSince).toBe(dayMs);
  expect(health.resumeAt() - dayMs).toEqual(about(15 * minuteMs, 0.1));
  const later = health.resumeAt();
  expect(health.failed(failure, later)).toBe(false);
  expect(health.resumeAt() - later).toEqual(about(15 * minuteMs, 0.1));
  expect(health.state()).toMatchObject({ failingSince: 0, pausedSince: dayMs });
});

test("a destination that is gone is paused at once", () => {
  expect(health.failed({ reason: "answered 410", isGone: true }, 5)).toBe(true);
  expect(health.maxSending()).toBe(1);
  expect(health.resumeAt()).toEqual(about(15 * minuteMs, 0.1));
});

test("a destination is left alone as long as it asks", () => {
  health.failed({ ...failure, retryAfterMs: 7_000 }, 10);
  expect([health.resumeAt(), health.maxSending()]).toEqual([7_010, 64]);
});

test("the time of failures goes on in another process", () => {
  health = createDeliveryHealth({ failingSince: 1, failure: "answered 500" }, deliveryTiming);
  expect([health.maxSending(), health.resumeAt()]).toEqual([1, 0]);
  expect(health.failed(failure, dayMs + 1)).toBe(true);
});

test("an event waits longer after each failure of its own, up to a minute", () => {
  const delays = [1, 2, 3, 7, 100].map((failures) => health.delayMs(failures));
  const expected = [1_000, 2_000, 4_000, minuteMs, minuteMs];
  expect(delays).toEqual(expected.map((ms) => about(ms, 0.2)));
});
