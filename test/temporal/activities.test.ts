/** Tests what activities write into a workflow's history: failures, and heartbeats. */

import { setTimeout } from "node:timers/promises";
import type { ApplicationFailure } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Activities, createActivities } from "../../activities/index.ts";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import type { PageRequest } from "../../src/platform/ports/pages.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { reasons } from "../../src/platform/words/reasons.ts";
import type { JobSegmentResult } from "../../src/points/contract/jobs.ts";
import { noTotals } from "../../src/points/rules/ledger.ts";
import { verification } from "../../src/points/use-cases/jobs/verification.ts";
import type { GrantInput } from "../../src/reservations/contract/payloads.ts";
import { jobOf } from "../support/fixtures/jobs.ts";
import { noObservers } from "../support/fixtures/no-observers.ts";
import { startMemoryServer } from "../support/servers/server.ts";

const quiet = () => {};

const program = {
  programId: "p",
  timeZone: "UTC",
  lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
  createTime: 0,
};

/** The failure of an activity whose every commit throws `error`. */
async function failureOf(
  error: unknown,
  run: (activities: Activities) => Promise<unknown>,
): Promise<ApplicationFailure> {
  const deps = {
    programs: { get: async () => program },
    clock: { now: async () => ({ calendar: 0, wall: 0 }) },
    engine: { transact: () => Promise.reject(error) },
    reader: { dueAccounts: () => Promise.reject(error) },
    background: () => {},
  } as unknown as WorkerDeps;
  const activities = createActivities({ deps, ...noObservers });
  const environment = new MockActivityEnvironment(
    {},
    { logger: new DefaultLogger("ERROR", quiet) },
  );
  const failed = environment.run(() => run(activities));
  return failed.then(
    () => expect.unreachable("it should fail"),
    (failure: ApplicationFailure) => failure,
  );
}

const cancel = ({ cancelReservation }: Activities) =>
  cancelReservation({ program_id: "p", reservation_id: "r" }, null);

describe("a failed activity", () => {
  test.each(reasons)("has the reason %s, and whether Temporal retries it", async (reason) => {
    const error = new DomainError(reason, "the message", { available_points: "7" });
    const failure = await failureOf(error, cancel);
    expect(failure).toMatchObject({
      type: reason,
      message: "the message",
      nonRetryable: !error.retryable,
      details: [{ available_points: "7" }],
    });
    expect(failure.stack).toBe("");
  });

  test("has no details of an unknown error, and is retried", async () => {
    const error = new Error("arn:aws:dynamodb:ap-northeast-1:123456789012:table/secret");
    for (const run of [
      cancel,
      ({ expireShard }: Activities) => expireShard({ program_id: "p", shard: 0 }),
    ]) {
      const failure = await failureOf(error, run);
      expect(failure).toMatchObject({ type: "INTERNAL", nonRetryable: false });
      expect(JSON.stringify([failure, failure.message, failure.stack])).not.toMatch(/arn|secret/);
      expect(failure.cause).toBeUndefined();
    }
  });

  test("refuses an input of the wrong form without a retry", async () => {
    const refused = { type: "INVALID_REQUEST", nonRetryable: true };
    const bad = [undefined, {}, { program_id: "p", reservation_id: 1, user_id: "u" }];
    for (const input of bad as unknown as GrantInput[]) {
      for (const name of ["grantWhenDue", "grantNow", "grantAgain"] as const) {
        const failure = await failureOf(undefined, (all) => all[name](input));
        expect(failure).toMatchObject(refused);
      }
    }
    const timeless = ({ rescheduleReservation }: Activities) =>
      rescheduleReservation({ program_id: "p", reservation_id: "r" }, { execute_time: "soon" });
    expect(await failureOf(undefined, timeless)).toMatchObject(refused);
  });
});

test("an attempt to grant ends when the store is silent, before it can time out", async () => {
  const hangs = () => new Promise<never>(() => {});
  let silenceMs = 3_500;
  const deps = {
    programs: { read: hangs },
    clock: { now: async () => ({ calendar: Date.now(), wall: Date.now() }) },
    storeSilenceMs: () => silenceMs,
  } as unknown as WorkerDeps;
  const { grantWhenDue } = createActivities({ deps, ...noObservers });
  // For an hour to come, it counts as due just now: nothing but the silence ends the attempt.
  const environment = new MockActivityEnvironment({
    scheduledTimestampMs: Date.now() + 3_600_000,
  });
  const attempt = environment.run(grantWhenDue, {
    ...{ program_id: "p", reservation_id: "r", user_id: "u", lead_ms: 0 },
    ...{ original_run_id: "run", execute_time: new Date(0).toISOString() },
  } satisfies GrantInput);
  const first = await Promise.race([attempt, setTimeout(1_000, "it waits")]);
  expect(first).toBe("it waits");
  silenceMs = 4_500;
  expect(await attempt).toMatchObject({ step: "RETRY", reason: "STORE_UNAVAILABLE" });
});

test("an attempt long before the execute time waits for a store that is slow", async () => {
  const server = await startMemoryServer();
  onTestFinished(() => server.stop());
  const inTwoMonths = BigInt(Math.floor(Date.now() / 1_000) + 60 * 86_400);
  const names = { reservationId: "r", userId: "u" };
  const executeTime = { seconds: inTwoMonths };
  await server.reservations.createReservation({ ...names, points: 5n, executeTime });
  const programs = {
    ...server.deps.programs,
    get: async (programId: string) => {
      await setTimeout(50);
      return server.deps.programs.get(programId);
    },
  };
  const { grantNow } = createActivities({ deps: { ...server.deps, programs }, ...noObservers });
  const answer = new MockActivityEnvironment().run(grantNow, {
    ...{ program_id: "default", reservation_id: "r", user_id: "u", lead_ms: 0 },
    ...{
      original_run_id: "run",
      execute_time: new Date(Number(inTwoMonths) * 1_000).toISOString(),
    },
  } satisfies GrantInput);
  expect(await answer).toMatchObject({ step: "WAIT" });
});

test("a verification continues after the last heartbeat, inside a ledger", async () => {
  const count = 20_000;
  const reads: number[] = [];
  const entryAt = (number: number) => ({
    ...{ number, type: "ISSUED", event: { origin: "c", eventId: `e${number}` }, points: 1 },
    ...{ createTime: 0, effectiveTime: 0, changes: [{ month: 23_640, points: 1 }] },
    ...{
      total: "issuedPoints",
      frozen: false,
      availablePoints: number,
      reason: "",
      caller: asService("test"),
    },
  });
  const account = {
    ...{ programId: "p", userId: "u", month: 23_640, slots: [count, ...Array(11).fill(0)] },
    totals: { ...noTotals, issuedPoints: count },
    ...{ frozen: false, last: count, time: 0, oldest: 23_640 },
  };
  // The run of the mocked activity has the lock.
  const held = { holder: new MockActivityEnvironment().context.info.workflowExecution?.workflowId };
  const reader = {
    get: async ({ kind }: { readonly kind: string }) =>
      kind === "job"
        ? { value: jobOf(verification, "p", { repair: false }), version: 1 }
        : { value: kind === "lease" ? held : account, version: count },
    accounts: async () => ({ items: [{ programId: "p", userId: "u" }] }),
    async storedEntries(_: unknown, { size, cursor }: PageRequest) {
      const from = Number(cursor ?? 0) + 1;
      reads.push(from);
      const items = Array.from({ length: size }, (_, i) => entryAt(from + i));
      const last = from + size - 1;
      return { items, ...(last < count && { cursor: String(last) }) };
    },
  };
  const deps = {
    programs: { get: async () => program },
    clock: { now: async () => ({ calendar: 0, wall: 0 }) },
    reader,
  } as unknown as WorkerDeps;
  const { sweepSegment } = createActivities({ deps, ...noObservers });
  const job = { kind: "verify-program", program_id: "p", job_id: "j" };
  const input = { ...job, segment: 0, segments: 1 };

  const killed = new MockActivityEnvironment();
  const beats: unknown[] = [];
  killed.on("heartbeat", (details) => {
    beats.push(JSON.parse(JSON.stringify(details)));
    if (beats.length === 10) killed.cancel("WORKER_SHUTDOWN");
  });
  const step = (await killed.run(sweepSegment, input)) as JobSegmentResult;
  expect(step.sum).toMatchObject({ accounts: 0, entries: 0 });
  expect(step.cursor).toBeDefined();
  expect(beats).toHaveLength(10);

  // The result of the killed worker is lost, so the next one continues from its last heartbeat.
  const next = new MockActivityEnvironment({ heartbeatDetails: beats.at(-1) });
  const found = (await next.run(sweepSegment, input)) as JobSegmentResult;
  expect(found.sum).toMatchObject({ accounts: 1, entries: count, wrong: 0 });
  expect(found.cursor).toBeUndefined();
  expect(reads).toEqual(Array.from({ length: count / 500 }, (_, i) => 500 * i + 1));
});
