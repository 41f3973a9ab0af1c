/** Tests that a record which the store always throttles costs a sweep or a run only itself. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import { notifyExpiringInShard } from "../../../src/feed/use-cases/notifications/notify-expiring.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { parseMonth } from "../../../src/platform/words/month.ts";
import { shardCount } from "../../../src/points/ports/points.ts";
import { accountRef, programRef } from "../../../src/points/ports/records.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { verification } from "../../../src/points/use-cases/jobs/verification.ts";
import { createDueMemory } from "../../../src/reservations/use-cases/due-reads.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import { createAccountFixture, grant, programId } from "../../support/fixtures/account-fixture.ts";
import { openStore, start, submit, validate } from "../../support/fixtures/bulk-steps.ts";
import { jobOf, makeStep } from "../../support/fixtures/jobs.ts";
import { createReservationFixture } from "../../support/fixtures/memory-reservations.ts";
import { idOf } from "../../support/fixtures/record-names.ts";
import { settled } from "../../support/fixtures/settled.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";
import { answerTo, programId as bulkProgramId } from "../../support/models/bulk-use-cases.ts";
import type { MemoryStore } from "../../support/stores/memory-store.ts";

// All pauses are in faked time: it would run on while a real pause lasts.
vi.mock("node:timers/promises", async (original) => ({
  ...(await original<typeof import("node:timers/promises")>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Throttles every transaction that writes or checks the record of this kind and user. */
function throttle(store: MemoryStore, kind: string, id: string): void {
  store.arriving = ({ op, refs }) =>
    op === "commit" && refs.some((ref) => ref.kind === kind && ref.id.endsWith(id))
      ? "throttled"
      : undefined;
}

/** The result of a sweep, which takes no longer than one throttled call and its own requests. */
async function soon<T>(sweep: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const result = await settled(sweep());
  expect(performance.now() - from).toBeLessThanOrEqual(200);
  return result;
}

const goOn = () => true;
const userIds = Array.from({ length: 100 }, (_, i) => `u-${i}`);
const hot = "u-42";

/** Members with points that expire at the end of January 2026, in all shards. */
async function accounts() {
  const fixture = createAccountFixture(1);
  fixture.store.force(programRef(programId), {
    programId,
    timeZone: "Asia/Tokyo",
    lifetimes: [{ lifetimeMonths: 1, effectiveTime: 0 }],
    createTime: 0,
    notices: { expiryDays: 7, reservedGrants: false },
  });
  fixture.clock.time = Date.UTC(2026, 0, 25, 3);
  for (const userId of userIds) await settled(grant(fixture.deps, "g", 10, { userId }));
  return fixture;
}

/** Goes through all shards, and adds up the counts. */
async function allShards<Counts>(
  sweep: (shard: number, counts: Partial<Counts>) => Promise<Counts>,
): Promise<Counts> {
  let counts: Partial<Counts> = {};
  for (let shard = 0; shard < shardCount; shard++) counts = await sweep(shard, counts);
  return counts as Counts;
}

test("a month end", async () => {
  const { deps, store, clock } = await accounts();
  clock.time = Date.UTC(2026, 4, 15);
  throttle(store, "account", `#${hot}`);
  const sweep = (shard: number, counts: object) =>
    expireDueInShard(deps, { programId, shard, ...counts }, goOn);
  expect(await soon(() => allShards(sweep))).toEqual({
    expired: 99,
    unchanged: 0,
    failed: 1,
    failures: [{ userId: hot, reason: "THROTTLED" }],
  });
});

test("notices of points that expire", async () => {
  const { deps, store } = await accounts();
  throttle(store, "inbox", hot);
  const month = parseMonth("2026-02");
  const sweep = (shard: number, counts: object) =>
    notifyExpiringInShard(deps, { programId, shard, month, ...counts }, goOn, () => {});
  expect(await soon(() => allShards(sweep))).toMatchObject({
    notified: 99,
    failures: [{ userId: hot, reason: "THROTTLED" }],
  });
});

test("a verification", async () => {
  const { deps } = await accounts();
  const reader: typeof deps.reader = {
    ...deps.reader,
    storedEntries(name, page) {
      if (name.userId !== hot) return deps.reader.storedEntries(name, page);
      return Promise.reject(new DomainError("THROTTLED", "the ledger of a busy account"));
    },
  };
  const job = jobOf(verification, programId, { repair: false });
  expect(await soon(() => makeStep({ ...deps, reader }, verification, job))).toMatchObject({
    accounts: 99,
    wrong: 0,
    failures: [{ userId: hot, reason: "THROTTLED" }],
  });
});

test("overdue reservations, also many of the throttled account", async () => {
  const { deps, store, clock, reserve, recordOf } = createReservationFixture();
  for (const id of userIds) await settled(reserve(id));
  for (let i = 0; i < 80; i++) await settled(reserve(`h-${i}`, { userId: hot, inMs: -90_000 }));
  throttle(store, "account", `#${hot}`);
  const reasons = new Set<unknown>();
  const observers = {
    onFailed: (_: unknown, error: unknown) => reasons.add((error as DomainError).reason),
  };
  const memory = createDueMemory();
  const sweep = () => settled(sweepAll(deps, observers, memory));
  expect(await sweep()).toMatchObject({ granted: 99, failed: 81 });
  expect(reasons).toEqual(new Set(["THROTTLED"]));
  expect(await recordOf(hot)).toMatchObject({ state: "PENDING" });
  store.arriving = undefined;
  clock.time += 15_000;
  expect(await sweep()).toMatchObject({ granted: 81, failed: 0 });
});

test("the marks of reservations", async () => {
  const { deps, store, clock, reserve } = createReservationFixture({
    startReservation: async () => {},
    async *brokenRuns() {},
    async *overdueRuns() {},
  });
  for (const id of userIds) await settled(reserve(id, { inMs: 3_600_000 }));
  clock.time += 60_000;
  throttle(store, "pendingStart", `#${hot}`);
  const failed: string[] = [];
  const synced = await soon(() => syncRuns(deps, 0, (name) => failed.push(idOf(name))));
  expect({ synced, failed }).toMatchObject({ synced: { synced: 99, failed: 1 }, failed: [hot] });
});

test("a bulk grant: its range goes on, and a retry repeats the row", async () => {
  const { deps, store } = await openStore();
  await submit(deps, "b", Object.fromEntries(userIds.map((userId) => [userId, 10])));
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  throttle(store, "account", `#${hot}`);
  const name = { programId: bulkProgramId, bulkGrantId: "b", revision: 1 };
  const run = (number: number) =>
    settled(runBlocks(deps, { ...name, run: number, from: 0, to: 1 }, goOn, () => {}));
  expect(await run(1)).toEqual({ grantedCount: 99, grantedPoints: 990, failedCount: 1 });
  const ended = await answerTo(deps, { op: "finish", id: "b", run: 1 });
  expect(ended).toMatchObject({
    head: { state: "DONE_WITH_FAILURES", result: { problemCounts: { THROTTLED: 1 } } },
  });
  store.arriving = undefined;
  await answerTo(deps, { op: "retry", id: "b", by: "ann" });
  await answerTo(deps, { op: "advance", id: "b" });
  await run(2);
  expect(await answerTo(deps, { op: "finish", id: "b", run: 2 })).toMatchObject({
    head: { state: "DONE", result: { grantedCount: 100 } },
  });
  const account = await deps.reader.get(accountRef(bulkProgramId, hot));
  expect(account?.value.last).toBe(1);
});
