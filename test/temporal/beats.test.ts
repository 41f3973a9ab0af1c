/** Tests when a held grant sends heartbeats. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBeats } from "../../activities/beats.ts";
import { grantTiming } from "../../workflows/timing.ts";

const { beatMs, crowd, slowTimerMs, spreadMs, foundMs, safetyMs } = grantTiming;

const executeTime = 1_790_000_000_500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

interface Grant {
  readonly leftMs: number;
  readonly tookMs: number;
  readonly heartbeatTimeoutMs?: number;
}

/** Runs a grant that ends `tookMs` after its time. Returns when it sent heartbeats, in ms. */
async function beatsOf(
  beats: ReturnType<typeof createBeats>,
  { leftMs, tookMs, ...info }: Grant,
): Promise<number[]> {
  const start = performance.now();
  const sent: number[] = [];
  const environment = new MockActivityEnvironment(info);
  environment.on("heartbeat", () => sent.push(performance.now() - start - leftMs));
  const work = () => new Promise<void>((resolve) => setTimeout(resolve, leftMs + tookMs));
  const done = environment.run(() => beats.during({ executeTime, leftMs }, work));
  await vi.advanceTimersByTimeAsync(leftMs + tookMs);
  await done;
  return sent;
}

const held = { leftMs: 3_000, heartbeatTimeoutMs: 4_200 };

test("a grant that ends soon after its time sends none", async () => {
  expect(await beatsOf(createBeats(), { ...held, tookMs: beatMs - 1 })).toEqual([]);
});

test("a slow one sends the first after its time, and the next in half the timeout", async () => {
  const sent = await beatsOf(createBeats(), { ...held, tookMs: 5_000 });
  expect(sent).toEqual([beatMs, beatMs + 2_100, beatMs + 4_200]);
});

test("one that begins after its time sends the first as late after its beginning", async () => {
  const overdue = { leftMs: -5_000, heartbeatTimeoutMs: 4_200 };
  // A grant that ends soon after its beginning sends none.
  expect(await beatsOf(createBeats(), { ...overdue, tookMs: 5_000 + beatMs - 1 })).toEqual([]);
  const sent = await beatsOf(createBeats(), { ...overdue, tookMs: 5_000 + beatMs + 1 });
  expect(sent).toEqual([5_000 + beatMs]);
});

test("an activity that an earlier version has scheduled sends none", async () => {
  const { leftMs } = held;
  expect(await beatsOf(createBeats(), { leftMs, tookMs: 5_000 })).toEqual([]);
});

test("those of a process whose timers come late send the first before their time", async () => {
  const beats = createBeats();
  const now = performance.now.bind(performance);
  let lateMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
  const slow = async () => {
    const sent = beatsOf(beats, { ...held, tookMs: 100 });
    lateMs += 10 * slowTimerMs;
    return await sent;
  };
  expect((await slow())[0]).toBeLessThanOrEqual(10 * slowTimerMs);
  const quick = () => beatsOf(beats, { ...held, tookMs: 100 });
  for (let i = 0; i < 10; i++) await quick();
  expect(await quick()).toEqual([]);
});

test("those of a crowd send the first before their time", async () => {
  const beats = createBeats();
  const all = await Promise.all(
    Array.from({ length: crowd + 20 }, () => beatsOf(beats, { ...held, tookMs: 1_000 })),
  );
  expect(all.slice(0, crowd)).toEqual(Array.from({ length: crowd }, () => [beatMs]));
  for (const [first] of all.slice(crowd)) {
    expect(first).toBeGreaterThanOrEqual(-spreadMs);
    expect(first).toBeLessThanOrEqual(0);
  }
  // They have ended, so the next one is not in a crowd.
  expect(await beatsOf(beats, { ...held, tookMs: 1_000 })).toEqual([beatMs]);
});

test("those of a crowd that are held for long send the first early", async () => {
  const beats = createBeats();
  const long = { leftMs: 60_000, heartbeatTimeoutMs: 61_200 };
  const all = await Promise.all(
    Array.from({ length: crowd + 20 }, () => beatsOf(beats, { ...long, tookMs: foundMs })),
  );
  for (const [first = Number.NaN, next] of all.slice(crowd)) {
    // Temporal finds the death of the worker soon after the execute time.
    expect(first + long.heartbeatTimeoutMs).toBeGreaterThanOrEqual(foundMs - spreadMs);
    expect(first + long.heartbeatTimeoutMs).toBeLessThanOrEqual(foundMs);
    expect(next).toBe(first + long.heartbeatTimeoutMs - safetyMs);
  }
});
