/**
 * Tests the engine on DynamoDB behind the fault proxy: once with the isolation of DynamoDB Local,
 * which applies transactions at one moment, and once with the isolation that AWS documents.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { type Clients, createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { type TableName, tableName } from "../../../src/platform/dynamodb/tables.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { grantPoints, usePoints } from "../../../src/points/use-cases/commands.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { itemByItem } from "../../../tools/dynamo-proxy/isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import {
  attempt,
  checkOutcomes,
  ledgerOf,
  type Process,
  programId,
  runWorkload,
  settle,
  startProcess,
  timeOutDue,
} from "../../support/models/fault-workload.ts";
import { randomFrom } from "../../support/models/random.ts";
import { begun, type Outcome, shortHoldMs } from "../../support/models/workload-operations.ts";
import { plan } from "../../support/models/workload-plan.ts";
import { inForm, soakSeed } from "../../support/soak.ts";
import { deleteTables } from "../../support/stores/delete-tables.ts";

const upstream = inject("dynamodbEndpoint");
const seed = soakSeed(20_261_101);
const operations = inForm({ short: 120, long: 1_500 });
/** So few that operations of one account meet. */
const accounts = Math.ceil(operations / 14);
let names: TableName;
let clients: Clients;
let proxy: DynamoProxy;
let direct: Process;
let started: Process[];

/** Starts processes that reach the store through the proxy, by both transports in turn. */
function processes(count: number): Process[] {
  const all = Array.from({ length: count }, (_, i) =>
    startProcess(proxy.endpoint, names, i % 2 === 0 ? "thin" : "sdk"),
  );
  started.push(...all);
  return all;
}

const grant = (deps: Deps, userId: string, eventId: string, points: number, waitMs?: number) =>
  grantPoints(deps, {
    programId,
    userId,
    eventId,
    points,
    reason: "",
    caller: asService("test"),
    deadline: waitMs === undefined ? undefined : performance.now() + waitMs,
  });

const use = (deps: Deps, userId: string, eventId: string, points: number) =>
  usePoints(deps, {
    programId,
    userId,
    eventId,
    points,
    reason: "",
    caller: asService("test"),
    deadline: undefined,
    allowPartial: false,
  });

const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof DomainError ? error.reason : String(error)),
  );

const retryable = new Set<string | undefined>(["CONTENDED", "THROTTLED", "STORE_UNAVAILABLE"]);

/** A call without a deadline, which the engine ends after five seconds, and whether it waits. */
function callWithoutDeadline(deps: Deps, userId: string) {
  const call = { waits: true, ended: Promise.resolve() };
  call.ended = reasonOf(grant(deps, userId, "patient", 1)).then(() => {
    call.waits = false;
  });
  return call;
}

const modes = [
  { mode: "transactions applied at one moment", isolation: undefined },
  {
    mode: "transactions applied item by item",
    isolation: itemByItem,
  },
] as const;

describe.each(modes)("$mode", ({ isolation }) => {
  beforeAll(async () => {
    names = tableName(`faults-${randomUUID().slice(0, 8)}-`);
    clients = createClients({ endpoint: upstream, region: "ap-northeast-1" });
    await createTables(clients.retrying, localTableDefinitions(names));
    direct = startProcess(upstream, names);
    await createProgram(direct.deps, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  });

  beforeEach(async () => {
    started = [];
    proxy = await startDynamoProxy({ upstream, seed });
    proxy.isolation(isolation);
  });

  afterEach(async () => {
    for (const each of started) each.close();
    await proxy.stop();
  });

  afterAll(async () => {
    await deleteTables(clients.retrying, names);
    direct.close();
    clients.close();
  });

  test("operations with faults: acknowledged ones once, the rest at most once", async () => {
    const some = processes(3);
    const aheadMs = 2 * shortHoldMs;
    const worker = startProcess(proxy.endpoint, names, "thin", aheadMs);
    started.push(worker);
    proxy.faults({
      lostAnswer: 0.06,
      conflict: 0.06,
      throttle: 0.06,
      serverError: 0.06,
      delay: 0.2,
      delayMs: [1, 30],
    });
    const outcomes = await runWorkload(some, worker, plan(seed, operations, accounts), seed, 32);
    const { faults } = proxy.stats();
    proxy.faults({});
    await settle([...some, worker], proxy);
    await timeOutDue(worker, outcomes);
    expect(outcomes).toHaveLength(operations);
    for (const kind of ["lostAnswer", "conflict", "throttle", "serverError"] as const) {
      expect(faults[kind]).toBeGreaterThan(operations / 120);
    }
    const counts = await checkOutcomes(direct.deps, outcomes, aheadMs);
    // On a busy machine more callers give up before their answer.
    expect(counts.acknowledged).toBeGreaterThan(operations / 4);
    expect(counts.refused).toBeGreaterThan(operations / 20);
    expect(counts.timedOut).toBeGreaterThanOrEqual(Math.floor(operations / 150));
    expect(counts.captured).toBeGreaterThanOrEqual(Math.floor(operations / 150));
  });

  test("ambiguous results that are given up: each is done once or not at all", async () => {
    const [one] = processes(1) as [Process];
    await grant(one.deps, "lost-warm", "warm", 1);
    const operations = plan(seed + 1, 60, 6).map((each) =>
      begun({
        ...each,
        id: `lost-${each.id}`,
        userId: `lost-${each.userId}`,
        reverses: `lost-${each.reverses}`,
        ...(each.holdId && { holdId: `lost-${each.holdId}` }),
      }),
    );
    proxy.faults({ lostAnswer: 0.97, operations: "writes" });
    const outcomes = await Promise.all(
      operations.map(async (operation) => ({
        operation,
        attempts: [await attempt(one.deps, operation, 300)],
      })),
    );
    proxy.faults({});
    await settle([one], proxy);
    const counts = await checkOutcomes(direct.deps, outcomes);
    expect(counts.ambiguous).toBeGreaterThan(10);
    expect(counts.ambiguousButDone).toBeGreaterThan(0);
  });

  test("locked items: overlapping transactions conflict, no points are spent twice", async () => {
    const some = processes(4);
    const userId = "contended";
    await grant(direct.deps, userId, "start", 1_000);
    proxy.lock(8);
    let calls = 0;
    const answers = new Map<string, string>();
    const caller = async (i: number) => {
      const { deps } = some[i % some.length] as Process;
      for (let k = 0; k < 4; k++) {
        const id = `use-${i}-${k}`;
        // Retries as clients do. The lock stays on until all calls have been answered.
        do {
          calls += 1;
          answers.set(id, await reasonOf(use(deps, userId, id, 5)));
        } while (retryable.has(answers.get(id)));
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, i) => caller(i)));
    const { lockConflicts } = proxy.stats();
    proxy.lock(0);
    console.info(`${lockConflicts} conflicts, ${calls - answers.size} calls sent again`);
    const all = [...answers.values()];
    // 256 uses ask for 5 of 1,000 points.
    expect(all.filter((reason) => reason === "done")).toHaveLength(200);
    expect(all.filter((reason) => reason === "INSUFFICIENT_POINTS")).toHaveLength(56);
    expect((await getBalance(direct.deps, { programId, userId })).availablePoints).toBe(0);
    const entries = await ledgerOf(direct.deps, userId);
    expect(entries).toHaveLength(201);
    expect(lockConflicts).toBeGreaterThan(5);
  });

  test("two processes on one account, each with a cache of its own", async () => {
    const [one, two] = processes(2) as [Process, Process];
    const userId = "shared";
    await grant(one.deps, userId, "g1", 10);
    await grant(two.deps, userId, "g2", 10);
    expect(await reasonOf(use(one.deps, userId, "u1", 20))).toBe("done");
    // The cache of the other process has twenty points; it gets the same use and another one.
    const again = await usePoints(two.deps, {
      programId,
      userId,
      eventId: "u1",
      points: 20,
      reason: "",
      caller: asService("test"),
      deadline: undefined,
      allowPartial: false,
    });
    expect(again).toMatchObject({ replayed: true, availablePoints: 0 });
    expect(await reasonOf(use(two.deps, userId, "u2", 1))).toBe("INSUFFICIENT_POINTS");
    const both = await Promise.all(
      [one, two].flatMap(({ deps }) =>
        Array.from({ length: 20 }, (_, i) => grant(deps, userId, `twin-${i}`, 1)),
      ),
    );
    expect(both.filter(({ replayed }) => !replayed)).toHaveLength(20);
    expect((await getBalance(direct.deps, { programId, userId })).availablePoints).toBe(20);
  });

  test("a use of all points succeeds for both callers that send it at once", async () => {
    const [one, two] = processes(2) as [Process, Process];
    const random = randomFrom(seed);
    // Half of the event keys become visible much later than the account, or much earlier.
    if (isolation) proxy.isolation({ applyMs: [0, 5], slowShare: 0.5, slowMs: 150 });
    const doubled = async (i: number): Promise<Outcome[]> => {
      const all = { userId: `doubled-${i}`, points: 11, reverses: "nothing" };
      const granted = { ...all, id: `all-${i}`, kind: "grant" } as const;
      const used = { ...all, id: `use-${i}`, kind: "use" } as const;
      const first = { operation: granted, attempts: [await attempt(direct.deps, granted)] };
      const later = 100 * random();
      const attempts = await Promise.all([
        attempt(one.deps, used),
        sleep(later).then(() => attempt(two.deps, used)),
      ]);
      return [first, { operation: used, attempts }];
    };
    const outcomes: Outcome[] = [];
    for (let i = 0; i < operations / 4; i += 20) {
      const some = await Promise.all(Array.from({ length: 20 }, (_, k) => doubled(i + k)));
      outcomes.push(...some.flat());
    }
    const { acknowledged } = await checkOutcomes(direct.deps, outcomes);
    expect(acknowledged).toBe(outcomes.length);
  });

  test("a silent store keeps no call beyond its deadline", async () => {
    const [one] = processes(1) as [Process];
    await grant(one.deps, "silent", "warm", 1);
    proxy.faults({ lostAnswer: 1, lostBy: "silence" });
    const other = callWithoutDeadline(one.deps, "silent-patient");
    const calls = Array.from({ length: 5 }, (_, i) => grant(one.deps, "silent", `g${i}`, 1, 700));
    const reasons = await Promise.all(calls.map(reasonOf));
    expect(other.waits).toBe(true);
    for (const reason of reasons) expect(["DEADLINE", "STORE_UNAVAILABLE"]).toContain(reason);
    proxy.faults({});
    await other.ended;
    // Afterwards calls succeed, and what was sent during the silence has been done once.
    await expect.poll(() => reasonOf(grant(one.deps, "silent", "g0", 1))).toBe("done");
    const ids = (await ledgerOf(direct.deps, "silent")).map(({ event }) => event.eventId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(["warm", "g0"]));
    const { availablePoints: available } = await getBalance(direct.deps, {
      programId,
      userId: "silent",
    });
    expect(available).toBe(ids.length);
  });

  test("a clock off by more than five seconds refuses calls until it is right", async () => {
    const [one] = processes(1) as [Process];
    const userId = "clock";
    const read = () => reasonOf(getBalance(one.deps, { programId, userId }));
    await grant(one.deps, userId, "g1", 10);
    for (const ms of [7_500, -7_500, 86_400_000]) {
      proxy.dateSkew(ms);
      // One answer alone does not move the clock.
      expect(await read()).toBe("done");
      // Another account, because a cached one needs no answer of the store.
      const other = `clock-${ms}`;
      expect(await reasonOf(grant(one.deps, other, "g", 10))).toBe("CLOCK_OFF");
      expect(await read()).toBe("CLOCK_OFF");
      proxy.dateSkew(ms > 0 ? 3_500 : -3_500);
      expect(await read()).toBe("CLOCK_OFF");
      expect(await read()).toBe("done");
      expect(await reasonOf(use(one.deps, userId, `u${ms}`, 1))).toBe("done");
      proxy.dateSkew(undefined);
      await read();
      expect(await reasonOf(grant(one.deps, other, "g", 10))).toBe("done");
      expect(await ledgerOf(direct.deps, other)).toHaveLength(1);
    }
  });

  test("while the store is away calls are refused, afterwards they succeed", async () => {
    const [one] = processes(1) as [Process];
    await grant(one.deps, "away", "warm", 1);
    proxy.down(true);
    const other = callWithoutDeadline(one.deps, "away-patient");
    const reason = await reasonOf(grant(one.deps, "away", "g", 1, 800));
    expect(["STORE_UNAVAILABLE", "DEADLINE"]).toContain(reason);
    expect(other.waits).toBe(true);
    proxy.down(false);
    await other.ended;
    expect(await reasonOf(grant(one.deps, "away", "g", 1))).toBe("done");
    const entries = await ledgerOf(direct.deps, "away");
    expect(entries.map(({ event }) => event.eventId)).toEqual(["warm", "g"]);
  });
});
