/** Tests of who writes the log: the holder of the lease, again and again, until it has to end. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepWriting } from "../../../src/events/runtime/keep-writing.ts";
import type { Lease } from "../../../src/platform/ports/lease.ts";
import { silent } from "../../support/fixtures/deliveries.ts";

vi.mock("node:timers/promises", () => import("../../support/fixtures/timed-sleep.ts"));

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

class Stale extends Error {}

/** A lease that is taken as often as the test gives it. */
function createLease() {
  const free = [Promise.withResolvers<AbortSignal | undefined>()];
  const told: string[] = [];
  let taken = 0;
  const lease: Lease = {
    take: () => (free[taken++] as (typeof free)[number]).promise,
    release: async () => void told.push("released"),
    isElsewhere: () => false,
    isUnanswered: () => false,
    close: async () => void told.push("closed"),
  };
  return {
    lease,
    told,
    /** Gives the lease to the process; the controller takes it away again. */
    give(): AbortController {
      const lost = new AbortController();
      free.at(-1)?.resolve(lost.signal);
      free.push(Promise.withResolvers());
      return lost;
    },
  };
}

/** Keeps writing, as the test says what each attempt does. */
function start(attempt: (signal: AbortSignal, attempts: number) => Promise<void>) {
  const { lease, told, give } = createLease();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const begun: number[] = [];
  let writes = false;
  const ended = keepWriting(
    {
      lease,
      write: (signal) => {
        begun.push(performance.now());
        return attempt(signal, begun.length);
      },
      isStale: (error) => error instanceof Stale,
      onWriting: (isWriting) => {
        writes = isWriting;
      },
      onFailed: (error) => void failures.push(error),
      log: silent,
    },
    stopping.signal,
  );
  return {
    ...{ told, give, failures, begun, ended },
    isWriting: () => writes,
    stop: () => stopping.abort(),
  };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

const soon = () => vi.advanceTimersByTimeAsync(0);

test("it writes only while it holds the lease, and gives it up at the end", async () => {
  const { give, begun, isWriting, stop, ended, told } = start(untilAborted);
  await soon();
  expect(isWriting()).toBe(false);
  const lost = give();
  await soon();
  expect(isWriting()).toBe(true);
  lost.abort();
  await soon();
  expect(isWriting()).toBe(false);
  give();
  await soon();
  expect([begun.length, isWriting()]).toEqual([2, true]);
  stop();
  await ended;
  expect([isWriting(), told]).toEqual([false, ["closed"]]);
});

test("while the store is away it waits longer and longer, and then goes on at once", async () => {
  const outage = 12;
  const { give, begun, failures, isWriting, stop, ended } = start(async (signal, attempts) => {
    if (attempts <= outage) throw new Error("the store gave no answer");
    await untilAborted(signal);
  });
  give();
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect([failures.length, begun.length, isWriting()]).toEqual([outage, outage + 1, true]);
  const pauses = begun.slice(1).map((at, i) => at - (begun[i] as number));
  // 250 ms, twice as long each time up to 30 s, and a fifth of it as jitter.
  const wanted = pauses.map((_, i) => Math.min(250 * 2 ** i, 30_000));
  for (const [i, pause] of pauses.entries()) {
    expect(pause).toBeGreaterThanOrEqual(0.79 * (wanted[i] as number));
    expect(pause).toBeLessThanOrEqual(1.21 * (wanted[i] as number));
  }
  stop();
  await ended;
});

test("a writer that has worked for a minute begins with the shortest pause again", async () => {
  const { give, begun, stop, ended } = start(async (signal, attempts) => {
    if (attempts === 8) await new Promise((resolve) => setTimeout(resolve, 60_001));
    if (attempts <= 8) throw new Error("the store gave no answer");
    await untilAborted(signal);
  });
  give();
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(begun).toHaveLength(9);
  expect((begun[8] as number) - (begun[7] as number)).toBeLessThan(60_001 + 400);
  stop();
  await ended;
});

test("a stale writer gives the lease up, and writes again when it gets it", async () => {
  const { give, begun, failures, isWriting, told, stop, ended } = start(
    async (signal, attempts) => {
      if (attempts === 1) throw new Stale();
      await untilAborted(signal);
    },
  );
  give();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([begun.length, failures.length, told]).toEqual([1, 1, ["released"]]);
  give();
  await soon();
  expect([begun.length, isWriting()]).toEqual([2, true]);
  stop();
  await ended;
});

test("it ends while it waits for the lease, and while it pauses", async () => {
  const waiting = start(untilAborted);
  waiting.stop();
  await waiting.ended;
  expect([waiting.begun, waiting.told]).toEqual([[], ["closed"]]);
  const pausing = start(async () => {
    throw new Error("the store gave no answer");
  });
  pausing.give();
  await soon();
  pausing.stop();
  await pausing.ended;
  expect([pausing.begun.length, pausing.told]).toEqual([1, ["closed"]]);
});
