/** Tests which errors of an attempt to grant lead to another one, and which the workflow shows. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { expect, test, vi } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import type { Clock } from "../../../src/platform/ports/clock.ts";
import type { Engine } from "../../../src/platform/ports/engine.ts";
import { storeRefuses } from "../../../src/platform/ports/store-refusals.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { createPastDueGrants } from "../../../src/worker/past-due.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";

const logger = new DefaultLogger("ERROR", () => {});

interface Attempt {
  /** The activity: `grantWhenDue` when left out. */
  readonly by?: "grantWhenDue" | "grantNow";
  readonly dueMs: number;
  readonly scheduledMs: number;
  /** Another clock. */
  readonly now?: Clock["now"];
  /** How many attempts the store is away for. All of them when left out. */
  readonly awayFor?: number;
  /** The error of an attempt; that of a store that is away when left out. */
  readonly error?: DomainError;
  /** For how long the store has been silent. 0 when left out. */
  readonly silenceMs?: number;
}

const pastDue = createPastDueGrants();

/** Runs the grant activity on a store that is away, for a reservation that was due `dueMs` ago. */
async function attempt({
  by = "grantWhenDue",
  dueMs,
  scheduledMs,
  now,
  awayFor = Number.POSITIVE_INFINITY,
  error = new DomainError("STORE_UNAVAILABLE", "away"),
  silenceMs = 0,
}: Attempt) {
  const { deps, clock, reserve } = createReservationFixture();
  clock.time = Date.now() + 1_000;
  await reserve("r");
  let attempts = 0;
  const transact: Engine["transact"] = (request) => {
    attempts += 1;
    if (attempts > awayFor) return deps.engine.transact(request);
    return Promise.reject(error);
  };
  const activities = createActivities({
    deps: {
      ...{ ...deps, engine: { transact }, storeSilenceMs: () => silenceMs },
      ...(now && { clock: { now } }),
    },
    ...noObservers,
    pastDue,
  });
  const scheduledTimestampMs = Date.now() - scheduledMs;
  const execute_time = new Date(Date.now() - dueMs).toISOString();
  const environment = new MockActivityEnvironment({ scheduledTimestampMs }, { logger });
  return environment.run(activities[by], {
    program_id: programId,
    reservation_id: "r",
    user_id: "r",
    execute_time,
    lead_ms: 0,
    original_run_id: "run",
  });
}

test.each([
  { dueMs: 0, scheduledMs: 3_600_000 },
  { dueMs: 3_600_000, scheduledMs: 0 },
])("one that has just become due is tried again by the same activity: %o", async (times) => {
  expect(await attempt({ ...times, awayFor: 3 })).toMatchObject({ step: "DONE" });
});

const nameOf = (reservationId: string) => ({ programId, reservationId });

test("the worker remembers what is past due until the next attempt", async () => {
  pastDue.settle(nameOf("r"));
  await attempt({ dueMs: 60_000, scheduledMs: 60_000 });
  const { count, oldestMs } = pastDue.read();
  expect(count).toBe(1);
  expect(oldestMs).toBeGreaterThanOrEqual(60_000);
  // An attempt of a later activity knows no earlier time.
  await attempt({ dueMs: 60_000, scheduledMs: 11_000 });
  expect(pastDue.read().oldestMs).toBeGreaterThanOrEqual(60_000);
});

test("a failed attempt counts for 20 s and until a sweep, or until the grant is settled", () => {
  vi.useFakeTimers();
  const memory = createPastDueGrants();
  const counted = () => memory.read().count;
  const [first, second] = [memory.begin(nameOf("a"), 0), memory.begin(nameOf("a"), 0)];
  first();
  vi.advanceTimersByTime(30_000);
  memory.forgetEnded();
  expect(counted()).toBe(1);
  second();
  vi.advanceTimersByTime(19_999);
  memory.forgetEnded();
  expect(counted()).toBe(1);
  const third = memory.begin(nameOf("a"), 0);
  vi.advanceTimersByTime(30_000);
  memory.forgetEnded();
  expect(counted()).toBe(1);
  third();
  // While the store is silent no sweep ends, and the next attempt may wait for minutes.
  vi.advanceTimersByTime(600_000);
  expect(counted()).toBe(1);
  memory.forgetEnded();
  expect(memory.read()).toEqual({ count: 0, oldestMs: 0 });
  const settled = memory.begin(nameOf("b"), 0);
  memory.settle(nameOf("b"));
  settled();
  expect(counted()).toBe(0);
  vi.useRealTimers();
});

test("a grant that is held counts from its time on, and no more when it is refused", async () => {
  const memory = createPastDueGrants();
  memory.begin(nameOf("later"), Date.now() + 60_000);
  memory.begin(nameOf("now"), Date.now() - 5);
  expect(memory.read().count).toBe(1);
  memory.settle(nameOf("now"));
  expect(memory.read()).toEqual({ count: 0, oldestMs: 0 });
});

test("one that fails at once while the store is silent is left to another activity", async () => {
  const step = await attempt({ dueMs: 0, scheduledMs: 0, silenceMs: 5_000 });
  expect(step).toMatchObject({ step: "RETRY", reason: "STORE_UNAVAILABLE" });
});

test.each<Partial<Attempt>>([{}, { error: new DomainError("THROTTLED", "throttled") }])(
  "an attempt in a workflow task is not repeated there, as of one moved: %o",
  async (by) => {
    const step = await attempt({ by: "grantNow", dueMs: -3_600_000, scheduledMs: 0, ...by });
    expect(step).toMatchObject({ step: "RETRY", reason: by.error?.reason ?? "STORE_UNAVAILABLE" });
  },
);

test("one that the store refuses is shown at once, with the code of AWS", async () => {
  const code = "ExpiredTokenException";
  const refusal = {
    code,
    operation: "TransactWriteItems",
    table: "points",
    resource: "",
    text: "",
  };
  const step = await attempt({ dueMs: 0, scheduledMs: 0, error: storeRefuses(refusal) });
  const message = `the store refuses TransactWriteItems on points: ${code}`;
  expect(step).toEqual({ step: "RETRY", reason: "STORE_REFUSES", message });
});

test("one that has been due for longer shows the reason", async () => {
  const step = await attempt({ dueMs: 60_000, scheduledMs: 60_000 });
  expect(step).toMatchObject({ step: "RETRY", reason: "STORE_UNAVAILABLE" });
});

test.each([0, -3_600_000])(
  "a clock that is off is shown at once, due since %i ms",
  async (dueMs) => {
    const now = () => Promise.reject(new DomainError("CLOCK_OFF", "off", { skew_ms: "6000" }));
    const step = await attempt({ dueMs, scheduledMs: 0, now });
    expect(step).toMatchObject({ step: "RETRY", reason: "CLOCK_OFF" });
  },
);
