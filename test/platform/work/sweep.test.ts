/** Tests the sweep: errors of single records, outages, and stops. */
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Reason } from "../../../src/platform/words/reasons.ts";
import { type SweepCounts, type SweepCursor, sweep } from "../../../src/platform/work/sweep.ts";
import { storeOutages } from "../../../src/platform/work/unconfirmed-failures.ts";
import { randomFrom } from "../../support/models/random.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

interface Name {
  readonly id: number;
}

interface Counts extends SweepCounts<Name> {
  readonly even: number;
  readonly odd: number;
}

type Progress = Counts & SweepCursor<Name>;

interface Options {
  readonly count: number;
  readonly pageSize?: number;
  readonly concurrency?: number;
  readonly outageAfter?: number;
  readonly keyOf?: (id: number) => string;
  /** The reason with which a call for a record fails, if it does. */
  readonly reasonOf?: (id: number, call: number) => Reason | "INTERNAL" | undefined;
}

/** Sweeps over the numbers up to a count, and counts even and odd ones. */
function numbersSweep({
  count,
  pageSize = 32,
  concurrency = 8,
  outageAfter = 3,
  keyOf = String,
  reasonOf,
}: Options) {
  const calls = Array<number>(count).fill(0);
  const done: number[] = [];
  const logged: number[] = [];
  const state = { running: 0, mostRunning: 0 };
  const work = {
    async read(cursor: string | undefined) {
      const from = Number(cursor ?? 0);
      const end = Math.min(from + pageSize, count);
      const items = Array.from({ length: end - from }, (_, i) => from + i);
      return { items, ...(end < count && { cursor: String(end) }) };
    },
    async process(id: number): Promise<"even" | "odd"> {
      const call = (calls[id] ?? 0) + 1;
      calls[id] = call;
      state.mostRunning = Math.max(state.mostRunning, ++state.running);
      for (let turns = id % 3; turns >= 0; turns--) await turn();
      state.running--;
      const reason = reasonOf?.(id, call);
      if (reason === "INTERNAL") throw new TypeError("unexpected");
      if (reason) throw new DomainError(reason, "as the test wants");
      done.push(id);
      return id % 2 === 0 ? "even" : "odd";
    },
    add: (counts: Counts, outcome: "even" | "odd") => ({
      ...counts,
      [outcome]: counts[outcome] + 1,
    }),
    nameOf: (id: number) => ({ id }),
    keyOf,
    onFailed: ({ id }: Name) => void logged.push(id),
    concurrency,
    outages: new Set<Reason>([...storeOutages, "WORKFLOWS_UNAVAILABLE"]),
    outageAfter,
  };
  const run = (
    { even = 0, odd = 0, failed = 0, failures = [], ...from }: Partial<Progress>,
    shouldContinue: (progress: Progress) => boolean,
  ) => sweep(work, { even, odd, failed, failures }, from, shouldContinue);
  const callCount = () => calls.reduce((sum, n) => sum + n, 0);
  return { run, calls, callCount, done, logged, state };
}

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value));

const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);

const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

describe("a record that fails", () => {
  test("is counted, named with its reason and logged, and the others are processed", async () => {
    const reasons: Record<number, Reason | "INTERNAL"> = { 7: "CONTENDED", 40: "INTERNAL" };
    const numbers = numbersSweep({ count: 100, reasonOf: (id) => reasons[id] });
    expect(await numbers.run({}, () => true)).toEqual({
      even: 49,
      odd: 49,
      failed: 2,
      failures: [
        { id: 7, reason: "CONTENDED" },
        { id: 40, reason: "INTERNAL" },
      ],
    });
    expect(numbers.logged).toEqual([7, 40]);
    expect(numbers.calls).toEqual(Array(100).fill(1));
  });

  test("is counted after 100 of them, but not named", async () => {
    const numbers = numbersSweep({ count: 250, reasonOf: () => "PROGRAM_STALE" });
    const { failed, failures } = await numbers.run({}, () => true);
    expect({ failed, named: failures.length }).toEqual({ failed: 250, named: 100 });
    expect(numbers.logged).toHaveLength(250);
  });

  test.each<Reason>(["STORE_UNAVAILABLE", "THROTTLED", "WORKFLOWS_UNAVAILABLE"])(
    "always with %s is counted, wherever it is, and the sweep goes on",
    async (reason) => {
      for (const bad of [0, 31, 32, 50, 99]) {
        for (const concurrency of [1, 8]) {
          const reasonOf = (id: number) => (id === bad ? reason : undefined);
          const numbers = numbersSweep({ count: 100, concurrency, outageAfter: 2, reasonOf });
          const result = await numbers.run({}, () => true);
          expect(result).toMatchObject({ failed: 1, failures: [{ id: bad, reason }] });
          expect(sorted(numbers.done)).toEqual(upTo(100).filter((id) => id !== bad));
          // The commit engine has waited for a throttled record; others get a second chance.
          expect(numbers.calls[bad]).toBe(reason === "THROTTLED" ? 1 : 2);
          expect(numbers.logged).toEqual([bad]);
        }
      }
    },
  );

  test("because its key is throttled is no outage, however many records the key has", async () => {
    const keyOf = (id: number) => (id < 60 ? "hot" : String(id));
    const reasonOf = (id: number) => (id < 60 || id === 99 ? "THROTTLED" : undefined);
    const numbers = numbersSweep({ count: 100, outageAfter: 2, keyOf, reasonOf });
    expect(await numbers.run({}, () => true)).toMatchObject({ even: 20, odd: 19, failed: 61 });
  });

  test("as the only one of its page does not hold the progress back for long", async () => {
    const reasonOf = (id: number) => (id === 1 ? "THROTTLED" : undefined);
    const numbers = numbersSweep({ count: 4, pageSize: 1, concurrency: 1, reasonOf });
    const seen: (string | undefined)[] = [];
    await numbers.run({}, ({ cursor }) => seen.push(cursor) > 0);
    // The page of the record that failed, until the next one has succeeded.
    expect(seen).toEqual(["1", "1", "3"]);
    const stopped = await numbers.run({ cursor: "1" }, () => false);
    expect(stopped).toMatchObject({ cursor: "2", failed: 1 });
  });
});

describe("an outage", () => {
  test("is thrown after the progress within the page, where the next sweep goes on", async () => {
    let isAway = true;
    const reasonOf = (id: number) => {
      if (id === 33) return "INTERNAL";
      return isAway && id >= 40 ? "STORE_UNAVAILABLE" : undefined;
    };
    const numbers = numbersSweep({ count: 100, concurrency: 4, outageAfter: 1, reasonOf });
    const seen: Progress[] = [];
    const swept = numbers.run({}, (progress) => seen.push(asJson(progress)) > 0);
    await expect(swept).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    const failures = [{ id: 33, reason: "INTERNAL" }];
    expect(seen).toEqual([
      { even: 16, odd: 16, failed: 0, failures: [], cursor: "32" },
      {
        ...{ even: 20, odd: 19, failed: 1, failures, cursor: "32" },
        done: [32, 33, 34, 35, 36, 37, 38, 39].map((id) => ({ id })),
      },
    ]);
    // Every record in flight was finished; no other one was begun.
    expect(numbers.state.running).toBe(0);
    expect(numbers.callCount()).toBeLessThanOrEqual(40 + 4);
    isAway = false;
    const result = await numbers.run(seen[1] ?? {}, () => true);
    expect(result).toEqual({ even: 50, odd: 49, failed: 1, failures });
    expect(sorted(numbers.done)).toEqual(upTo(100).filter((id) => id !== 33));
    expect(numbers.calls[33]).toBe(1);
  });

  test.each([1, 20])("over pages of %i leaves no record behind as failed", async (pageSize) => {
    let isAway = true;
    const reasonOf = (id: number) => (isAway && id >= 40 ? "STORE_UNAVAILABLE" : undefined);
    const options = { count: 100, pageSize, concurrency: pageSize, outageAfter: 30, reasonOf };
    const numbers = numbersSweep(options);
    const seen: Progress[] = [];
    const proceed = (progress: Progress) => seen.push(asJson(progress)) > 0;
    await expect(numbers.run({}, proceed)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(seen.at(-1)).toEqual({ even: 20, odd: 20, failed: 0, failures: [], cursor: "40" });
    expect(numbers.logged).toEqual([]);
    isAway = false;
    expect(await numbers.run(seen.at(-1) ?? {}, proceed)).toMatchObject({ even: 50, odd: 50 });
  });

  test("at the end is one of two records or more, unless these are throttled", async () => {
    const last = (reason: Reason) => (id: number) => (id >= 98 ? reason : undefined);
    const away = numbersSweep({ count: 100, outageAfter: 30, reasonOf: last("CLOCK_OFF") });
    const seen: Progress[] = [];
    const swept = away.run({}, (progress) => seen.push(asJson(progress)) > 0);
    await expect(swept).rejects.toMatchObject({ reason: "CLOCK_OFF" });
    expect(seen.at(-1)).toMatchObject({ failed: 0, cursor: "96", done: [{ id: 96 }, { id: 97 }] });
    const throttled = numbersSweep({ count: 100, outageAfter: 30, reasonOf: last("THROTTLED") });
    expect(await throttled.run({}, () => true)).toMatchObject({ failed: 2, even: 49, odd: 49 });
  });

  test("of throttling takes as many keys, and ends when it is over", async () => {
    let isThrottled = true;
    const reasonOf = () => (isThrottled ? "THROTTLED" : undefined);
    const numbers = numbersSweep({ count: 100, outageAfter: 30, reasonOf });
    const swept = numbers.run({}, () => true);
    await expect(swept).rejects.toMatchObject({ reason: "THROTTLED" });
    expect(numbers.callCount()).toBeLessThanOrEqual(30 + 8);
    isThrottled = false;
    expect(await numbers.run({}, () => true)).toMatchObject({ even: 50, odd: 50, failed: 0 });
  });

  test("concerns only the reasons of the caller", async () => {
    const numbers = numbersSweep({ count: 10, reasonOf: () => "DEADLINE" });
    expect(await numbers.run({}, () => true)).toMatchObject({ failed: 10 });
  });
});

describe("shouldContinue", () => {
  test("is called after every page but the last, and its false returns the cursor", async () => {
    const numbers = numbersSweep({ count: 100, pageSize: 10 });
    const cursors: (string | undefined)[] = [];
    const stopped = await numbers.run({}, ({ cursor }) => cursors.push(cursor) < 3);
    expect(stopped).toEqual({ even: 15, odd: 15, failed: 0, failures: [], cursor: "30" });
    const result = await numbers.run(stopped, ({ cursor }) => cursors.push(cursor) > 0);
    expect(result).toEqual({ even: 50, odd: 50, failed: 0, failures: [] });
    expect(cursors).toEqual(Array.from({ length: 9 }, (_, i) => String(10 * (i + 1))));
    expect(numbers.calls).toEqual(Array(100).fill(1));
  });

  test("is called at the checkpoints of a record, and its false ends the sweep there", async () => {
    const cursors: (string | undefined)[] = [];
    /** Each of three records has three parts; a cursor is the number of the next part. */
    const work = {
      async read(cursor = "0") {
        const part = Number(cursor);
        const end = part - (part % 3) + 3;
        return { items: [{ part, end }], ...(end < 9 && { cursor: String(end) }) };
      },
      async process(record: { part: number; end: number }, checkpoint: (at: string) => boolean) {
        let parts = 1;
        for (let next = record.part + 1; next < record.end; next++) {
          if (!checkpoint(String(next))) return parts;
          parts++;
        }
        return parts;
      },
      add: (counts: SweepCounts<Name> & { readonly parts: number }, parts: number) => ({
        ...counts,
        parts: counts.parts + parts,
      }),
      nameOf: ({ end }: { end: number }) => ({ id: end }),
      keyOf: ({ end }: { end: number }) => String(end),
      onFailed: () => expect.unreachable("none should fail"),
      ...{ concurrency: 1, outages: storeOutages, outageAfter: 1 },
    };
    let latest: SweepCounts<Name> & {
      readonly parts: number;
      readonly cursor?: string | undefined;
    };
    latest = { parts: 0, failed: 0, failures: [] };
    do {
      const { cursor, ...counts } = latest;
      const from = cursor === undefined ? {} : { cursor };
      latest = await sweep(work, counts, from, (progress) => cursors.push(progress.cursor) < 0);
    } while (latest.cursor !== undefined);
    expect(cursors).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
    expect(latest).toEqual({ parts: 9, failed: 0, failures: [] });
  });
});

test.each([1, 5, 40])("at most %i records are in process at once", async (concurrency) => {
  const numbers = numbersSweep({ count: 100, pageSize: 32, concurrency });
  await numbers.run({}, () => true);
  expect(numbers.state.mostRunning).toBe(Math.min(concurrency, 32));
});

test("each record counts once, whatever fails and whenever it stops", async () => {
  const plans = fc.record({
    count: fc.integer({ min: 0, max: 120 }),
    pageSize: fc.integer({ min: 1, max: 40 }),
    concurrency: fc.integer({ min: 1, max: 12 }),
    outageAfter: fc.integer({ min: 1, max: 3 }),
    outageRate: fc.double({ min: 0, max: 0.5, noNaN: true }),
    stopRate: fc.double({ min: 0, max: 0.5, noNaN: true }),
    badIds: fc.uniqueArray(fc.nat(120), { maxLength: 20 }),
    seed: fc.nat(),
  });
  const property = fc.asyncProperty(plans, async (plan) => {
    const random = randomFrom(plan.seed);
    const reasonOf = (id: number) => {
      if (random() < plan.outageRate) return "CLOCK_OFF";
      return plan.badIds.includes(id) ? "CONTENDED" : undefined;
    };
    const numbers = numbersSweep({ ...plan, reasonOf });
    let latest: Partial<Progress> = {};
    for (let isOver = false; !isOver; ) {
      try {
        latest = await numbers.run(latest, (progress) => {
          latest = asJson(progress);
          return random() >= plan.stopRate;
        });
        isOver = latest.cursor === undefined;
      } catch (error) {
        expect(error).toMatchObject({ reason: "CLOCK_OFF" });
      }
      expect(numbers.state.running).toBe(0);
    }
    const failures = latest.failures?.toSorted((a, b) => a.id - b.id) ?? [];
    const unlucky = failures.filter(({ reason }) => reason === "CLOCK_OFF").map(({ id }) => id);
    for (const id of unlucky) expect(numbers.calls[id]).toBeGreaterThan(1);
    const bad = upTo(plan.count).filter((id) => plan.badIds.includes(id) || unlucky.includes(id));
    const good = upTo(plan.count).filter((id) => !bad.includes(id));
    // A record that is done may be processed again: an outage takes the progress back to before
    // the first record that has failed.
    expect(good.filter((id) => !numbers.done.includes(id))).toEqual([]);
    expect(failures.map(({ id }) => id)).toEqual(bad);
    expect(latest).toMatchObject({
      even: good.filter((id) => id % 2 === 0).length,
      odd: good.filter((id) => id % 2 === 1).length,
      failed: bad.length,
    });
    expect(numbers.state.mostRunning).toBeLessThanOrEqual(plan.concurrency);
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 200 }]);
});
