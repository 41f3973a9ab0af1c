/** Tests how long a server uses its copy of a program. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Reader } from "../../../src/hub/deps.ts";
import { storeRefuses } from "../../../src/platform/ports/store-refusals.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { createProgramCache } from "../../../src/points/runtime/program-cache.ts";
import { countingReader } from "../../support/stores/counting-reader.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

const program = (months: number): Program => ({
  programId: "p",
  timeZone: "UTC",
  lifetimes: [{ lifetimeMonths: months, effectiveTime: 0 }],
  createTime: 0,
});

const tick = () => new Promise((resolve) => setTimeout(resolve, 1));

function setUp(always = false) {
  const store = createMemoryStore();
  store.force(programRef("p"), program(1));
  const { state, counting } = countingReader(store.reader);
  const programs = createProgramCache(counting, always);
  const months = async () => (await programs.get("p")).lifetimes[0]?.lifetimeMonths;
  return { store, state, months, programs };
}

test("a copy is used for 30 s, and is then refreshed in the background", async () => {
  const { store, state, months } = setUp();
  expect(await Promise.all([months(), months()])).toEqual([1, 1]);
  expect(state.reads).toBe(1);
  store.force(programRef("p"), program(2));
  vi.advanceTimersByTime(29_999);
  expect(await months()).toBe(1);
  expect(state.reads).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await months()).toBe(1);
  await tick();
  expect(state.reads).toBe(2);
  expect(await months()).toBe(2);
});

test("a copy older than 60 s is not used", async () => {
  const { store, state, months } = setUp();
  await months();
  state.down = true;
  vi.advanceTimersByTime(59_999);
  expect(await months()).toBe(1);
  await tick();
  vi.advanceTimersByTime(1);
  await expect(months()).rejects.toMatchObject({ reason: "PROGRAM_STALE", retryable: true });
  state.down = false;
  store.force(programRef("p"), program(2));
  expect(await months()).toBe(2);
});

test("a copy that the store refuses to read anew says so, with AWS's code", async () => {
  const refusal = {
    ...{ code: "AccessDeniedException", operation: "GetItem", table: "points" },
    ...{ resource: "", text: "" },
  };
  const { store } = setUp();
  let isRefused = false;
  const get: Reader["get"] = (ref) =>
    isRefused ? Promise.reject(storeRefuses(refusal)) : store.reader.get(ref);
  const programs = createProgramCache({ ...store.reader, get });
  await programs.get("p");
  isRefused = true;
  vi.advanceTimersByTime(60_000);
  const refused = { reason: "STORE_REFUSES", metadata: { code: "AccessDeniedException" } };
  await expect(programs.get("p")).rejects.toMatchObject(refused);
});

test("the time in which a machine was suspended counts", async () => {
  const { store, months } = setUp();
  await months();
  store.force(programRef("p"), program(2));
  vi.setSystemTime(Date.now() + 60_000);
  expect(await months()).toBe(2);
});

test("a wall clock that was set back does not make a copy newer", async () => {
  const { store, state, months } = setUp();
  await months();
  store.force(programRef("p"), program(2));
  // By a second, as time servers do: the copy still ages by the monotonic clock.
  vi.setSystemTime(Date.now() - 1_000);
  vi.advanceTimersByTime(29_999);
  expect(await months()).toBe(1);
  expect(state.reads).toBe(1);
  vi.advanceTimersByTime(30_001);
  expect(await months()).toBe(2);
  // By an hour: the age of the copy is unknown, so it is read again.
  store.force(programRef("p"), program(3));
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(await months()).toBe(3);
});

test("an unknown program, and a store that is away from the start", async () => {
  const { state, programs } = setUp();
  await expect(programs.get("q")).rejects.toMatchObject({ reason: "PROGRAM_NOT_FOUND" });
  state.down = true;
  await expect(programs.get("q")).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
});

test("`read` reads now whatever the age of the copy, and renews the copy", async () => {
  const { store, state, months, programs } = setUp();
  await months();
  store.force(programRef("p"), program(2));
  expect((await programs.read("p")).lifetimes[0]?.lifetimeMonths).toBe(2);
  expect(state.reads).toBe(2);
  expect(await months()).toBe(2);
  expect(state.reads).toBe(2);
});

test("`read` joins a read that is under way, and fails instead of using a copy", async () => {
  const { state, programs } = setUp();
  await Promise.all([programs.read("p"), programs.get("p"), programs.read("p")]);
  expect(state.reads).toBe(1);
  await expect(programs.read("q")).rejects.toMatchObject({ reason: "PROGRAM_NOT_FOUND" });
  state.down = true;
  await expect(programs.read("p")).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
});

test("a decision uses the newest copy, and none that is too old by either clock", async () => {
  const { store, programs, months } = setUp();
  const stale = expect.objectContaining({ reason: "PROGRAM_STALE", retryable: true });
  const currentOf = () => {
    try {
      return programs.current("p").lifetimes[0]?.lifetimeMonths;
    } catch (error) {
      return error;
    }
  };
  const recent = () => programs.recent("p", 2_000)?.lifetimes[0]?.lifetimeMonths;
  expect(currentOf()).toEqual(stale);
  await months();
  vi.advanceTimersByTime(1_999);
  expect([recent(), currentOf()]).toEqual([1, 1]);
  vi.advanceTimersByTime(1);
  expect([recent(), currentOf()]).toEqual([undefined, 1]);
  store.force(programRef("p"), program(2));
  await programs.read("p");
  expect([recent(), currentOf()]).toEqual([2, 2]);
  // A machine that was suspended, or a wall clock that was set back.
  for (const jumpMs of [60_000, -60_000]) {
    await programs.read("p");
    vi.setSystemTime(Date.now() + jumpMs);
    expect(currentOf()).toEqual(stale);
  }
  await programs.read("p");
  vi.advanceTimersByTime(59_999);
  expect(currentOf()).toBe(2);
  vi.advanceTimersByTime(1);
  expect(currentOf()).toEqual(stale);
});

test("the answer of an earlier read does not replace that of a later one", async () => {
  const { store } = setUp();
  const first = Promise.withResolvers<void>();
  let answered: Promise<void> | undefined = first.promise;
  const get: Reader["get"] = async (ref) => {
    const found = await store.reader.get(ref);
    await answered;
    return found;
  };
  const programs = createProgramCache({ ...store.reader, get }, true);
  const earlier = programs.get("p");
  await tick();
  answered = undefined;
  store.force(programRef("p"), program(2));
  vi.advanceTimersByTime(1);
  await programs.get("p");
  first.resolve();
  expect((await earlier).lifetimes[0]?.lifetimeMonths).toBe(1);
  expect(programs.current("p").lifetimes[0]?.lifetimeMonths).toBe(2);
});

test("with `always` every call reads the program", async () => {
  const { store, state, months } = setUp(true);
  await months();
  store.force(programRef("p"), program(2));
  expect(await months()).toBe(2);
  expect(state.reads).toBe(2);
});
