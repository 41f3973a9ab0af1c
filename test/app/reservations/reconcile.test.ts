/** Tests the sweeps of the reconciler: over overdue reservations, and after a lost namespace. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { describe, expect, test, vi } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import { heldShardCount } from "../../../src/app/ports/holds.ts";
import type { ReservationName } from "../../../src/app/ports/reservations.ts";
import { readAllPrograms } from "../../../src/app/programs/queries.ts";
import { divideIntoLanes, recordPages } from "../../../src/app/reservations/all-reservations.ts";
import { executeOverdue, type OverdueCounts } from "../../../src/app/reservations/reconcile.ts";
import { shardCount } from "../../../src/contract/points.ts";
import type { StartProgress } from "../../../src/contract/reconciler.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import {
  createReservationFixture,
  programId,
  spiedWorkflows,
} from "../../support/fixtures/memory-reservations.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import { idOf } from "../../support/fixtures/record-names.ts";
import { randomFrom } from "../../support/models/random.ts";

type Fixture = ReturnType<typeof createReservationFixture>;
type Overdue = Parameters<typeof executeOverdue>[1];

const nothing = { overdue: 0, oldestMs: 0, granted: 0, refused: 0, failed: 0, failures: [] };

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `r-${i}`);

/** Executes what is overdue until the end, page by page, as the steps of an activity do. */
async function executeAll(deps: Deps, observers: Partial<Parameters<typeof executeOverdue>[3]>) {
  const { onDone = () => {}, onFailed = () => {} } = observers;
  let step: Overdue = nothing;
  do step = await executeOverdue(deps, step, () => false, { onDone, onFailed });
  while (step.cursor !== undefined);
  return step as OverdueCounts;
}

/** The same dependencies, whose transactions on the accounts of these users fail. */
function failingFor(deps: Deps, errors: Readonly<Record<string, Error>>): Deps {
  const transact: Deps["engine"]["transact"] = (request) => {
    const [, userId = ""] = request.key.id.split("#");
    const error = request.key.kind === "account" ? errors[userId] : undefined;
    return error ? Promise.reject(error) : deps.engine.transact(request);
  };
  return { ...deps, engine: { transact } };
}

describe("executeOverdue", () => {
  test("executes what is overdue by more than 15 s, and asks Temporal nothing", async () => {
    const workflows = spiedWorkflows();
    const { deps, reserve, recordOf, force, entryCount } = createReservationFixture(workflows);
    await reserve("hours", { inMs: -3_600_000 });
    await reserve("just-overdue", { inMs: -15_001 });
    await reserve("not-yet", { inMs: -15_000 });
    await reserve("later", { inMs: 60_000 });
    await reserve("cancelled");
    await force("cancelled", (reservation) => ({ ...reservation, state: "CANCELLED" }));
    const done: string[] = [];
    const counts = await executeAll(deps, {
      onDone: (reservation) => done.push(reservation.reservationId),
    });
    expect(counts).toEqual({ ...nothing, overdue: 2, granted: 2, oldestMs: 3_600_000 });
    expect(done.toSorted()).toEqual(["hours", "just-overdue"]);
    for (const id of done) {
      expect(await recordOf(id)).toMatchObject({ state: "DONE" });
      expect(await entryCount(id)).toBe(1);
    }
    for (const id of ["not-yet", "later"]) {
      expect(await recordOf(id)).toMatchObject({ state: "PENDING" });
    }
    expect(await recordOf("cancelled")).toMatchObject({ state: "CANCELLED" });
    for (const call of Object.values(workflows)) expect(call).not.toHaveBeenCalled();
    expect(await executeAll(deps, {})).toEqual(nothing);
  });

  test("names the records that fail, executes the others, and counts refusals", async () => {
    const { deps, reserve, recordOf } = createReservationFixture();
    for (const id of namesOf(50)) await reserve(id);
    await reserve("refused", { inMs: -90_000 });
    const errors = {
      "r-7": new DomainError("CONTENDED", "for ever"),
      "r-33": new TypeError("unexpected"),
      refused: new DomainError("ACCOUNT_FROZEN", "frozen"),
    };
    const onFailed = vi.fn();
    const counts = await executeAll(failingFor(deps, errors), { onFailed });
    expect(counts).toMatchObject({ overdue: 49, granted: 48, refused: 1, failed: 2 });
    expect(counts.failures.toSorted((a, b) => (a.reason < b.reason ? -1 : 1))).toEqual([
      { programId, reservationId: "r-7", reason: "CONTENDED" },
      { programId, reservationId: "r-33", reason: "INTERNAL" },
    ]);
    expect(onFailed).toHaveBeenCalledTimes(2);
    expect(await recordOf("refused")).toMatchObject({ state: "FAILED" });
    for (const id of ["r-7", "r-33"])
      expect(await recordOf(id)).toMatchObject({ state: "PENDING" });
    expect(await executeAll(deps, {})).toMatchObject({ overdue: 2, granted: 2, failed: 0 });
  });

  test("ends with the outage of the store, and the next attempt does the rest", async () => {
    const { deps, reserve, entryCount } = createReservationFixture();
    const ids = namesOf(60);
    for (const id of ids) await reserve(id);
    let transactions = 0;
    const transact: Deps["engine"]["transact"] = (request) => {
      transactions += 1;
      if (transactions > 30) return Promise.reject(new DomainError("STORE_UNAVAILABLE", "away"));
      return deps.engine.transact(request);
    };
    let latest: Overdue = nothing;
    const observers = { onDone: () => {}, onFailed: () => expect.unreachable("none fails alone") };
    const proceed = (progress: Overdue) => {
      latest = JSON.parse(JSON.stringify(progress));
      return true;
    };
    const away = executeOverdue({ ...deps, engine: { transact } }, nothing, proceed, observers);
    await expect(away).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    const counts = await executeOverdue(deps, latest, proceed, observers);
    expect(counts).toMatchObject({ overdue: 60, granted: 60, failed: 0 });
    for (const id of ids) expect(await entryCount(id)).toBe(1);
  });
});

const logger = new DefaultLogger("ERROR", () => {});

/** Runs the activity that starts all runs, as Temporal does: again after an error. */
async function startAll(deps: Deps) {
  const { startAllRuns } = createActivities({ deps, ...noObservers });
  let heartbeatDetails: unknown;
  let step: StartProgress = { started: 0, failed: 0, failures: [] };
  for (let attempts = 1; attempts < 100; attempts++) {
    const environment = new MockActivityEnvironment({ heartbeatDetails }, { logger });
    environment.on("heartbeat", (details) => {
      heartbeatDetails = JSON.parse(JSON.stringify(details));
    });
    try {
      step = await environment.run(startAllRuns, step);
      if (step.cursor === undefined) return { counts: step, attempts };
      heartbeatDetails = undefined;
    } catch (error) {
      expect(error).toMatchObject({ type: "WORKFLOWS_UNAVAILABLE", nonRetryable: false });
    }
  }
  throw new Error("the activity never ends");
}

/** 400 records of which no run was started, and a port that starts them with these errors. */
async function reservationsWithoutRuns(
  errorOf: (name: ReservationName, call: number) => Error | undefined,
) {
  let calls = 0;
  const started = new Map<string, number>();
  const fixture: Fixture = createReservationFixture({
    async startReservation({ programId, reservationId }) {
      calls += 1;
      const error = errorOf({ programId, reservationId }, calls);
      if (error) throw error;
      started.set(reservationId, (started.get(reservationId) ?? 0) + 1);
    },
  });
  const ids = namesOf(400);
  for (const id of ids) await fixture.reserve(id, { inMs: 3_600_000 });
  return { ...fixture, ids, started, callCount: () => calls };
}

const unavailable = () => new DomainError("WORKFLOWS_UNAVAILABLE", "for a moment");

describe("the lanes of overdue reservations", () => {
  const observers = { onDone: () => {}, onFailed: () => expect.unreachable("none fails") };

  test("together execute what a step has left, each record once", async () => {
    const { deps, reserve, addProgram, recordOf } = createReservationFixture();
    const programs = ["a", "b", programId, "z"];
    for (const id of programs) addProgram(id);
    const ids = namesOf(60);
    for (const of of programs) for (const id of ids) await reserve(id, { programId: of });
    let pages = 0;
    const first = await executeOverdue(deps, nothing, () => ++pages < 10, observers);
    const { cursor = "" } = first;
    const all = { programs: () => readAllPrograms(deps) };
    const lanes = await divideIntoLanes(all, { cursor }, 8);
    // 10 of the 20 shards of the first program are left, and those of three programs behind it.
    expect(lanes.length).toBe(5 + 8);
    let { granted } = first;
    const queue = [...lanes];
    for (let lane = queue.shift(); lane; lane = queue.shift()) {
      const from = { ...nothing, cursor: lane.cursor };
      const step = await executeOverdue(deps, from, () => false, observers, lane.until);
      granted += step.granted;
      const { cursor: next } = step;
      if (next !== undefined) {
        const left = { cursor: next, until: lane.until };
        queue.push(...(await divideIntoLanes(all, left, 1)));
      }
    }
    expect(granted).toBe(4 * 60);
    for (const of of programs) {
      for (const id of ids) expect(await recordOf(id, of)).toMatchObject({ state: "DONE" });
    }
  });

  test("keep what is behind a long shard apart from it", async () => {
    const { deps, addProgram } = createReservationFixture();
    for (const id of ["q", "r"]) addProgram(id);
    const at = (programId: string, shard: number, after?: string) =>
      JSON.stringify({ programId, shard, ...(after && { after }) });
    const divide = (cursor: string, until?: string) =>
      divideIntoLanes({ programs: () => readAllPrograms(deps) }, { cursor, until }, 1);
    const end = at("~", 0);
    expect(await divide(at("p", 5))).toEqual([{ cursor: at("p", 5), until: end }]);
    expect(await divide(at("p", 5, "r-1"))).toEqual([
      { cursor: at("p", 5, "r-1"), until: at("p", 6) },
      { cursor: at("p", 6), until: end },
    ]);
    // The last shard of a program, and the last one of the lane.
    const last = shardCount + heldShardCount - 1;
    expect(await divide(at("p", last, "r-1"), at("q", 9))).toEqual([
      { cursor: at("p", last, "r-1"), until: at("q", 0) },
      { cursor: at("q", 0), until: at("q", 9) },
    ]);
    expect(await divide(at("p", 5, "r-1"), at("p", 6))).toEqual([
      { cursor: at("p", 5, "r-1"), until: at("p", 6) },
    ]);
    // A program that was paused or ended meanwhile.
    expect(await divide(at("o", 5, "r-1"), at("q", 9))).toEqual([
      { cursor: at("o", 5, "r-1"), until: at("o", 6) },
      { cursor: at("o", 6), until: at("q", 9) },
    ]);
  });

  test("a shard with a damaged record is named, and all others are executed", async () => {
    const { deps, reserve, addProgram } = createReservationFixture();
    addProgram("damaged");
    for (const id of namesOf(40)) {
      await reserve(id, { programId: "damaged" });
      await reserve(id);
    }
    let skipped = 0;
    const reader: Deps["reader"] = {
      ...deps.reader,
      async pendingInShard(of, shard, window, page) {
        const found = await deps.reader.pendingInShard(of, shard, window, page);
        if (of !== "damaged" || shard !== 3) return found;
        skipped = found.items.length;
        throw new TypeError("no number");
      },
    };
    const counts = await executeAll({ ...deps, reader }, {});
    expect(skipped).toBeGreaterThan(0);
    expect(counts).toMatchObject({ granted: 80 - skipped, failed: 1 });
    expect(counts.failures).toEqual([
      { programId: "damaged", reservationId: "(shard 3 of PENDING)", reason: "INTERNAL" },
    ]);
  });
});

describe("startAllRuns", () => {
  test("starts few runs twice when 0.5 % of the starts fail", async () => {
    const random = randomFrom(3);
    const all = await reservationsWithoutRuns(() => (random() < 0.005 ? unavailable() : undefined));
    const { counts } = await startAll(all.deps);
    expect(counts).toEqual({ started: 400, failed: 0, failures: [] });
    expect([...all.started.keys()].toSorted()).toEqual(all.ids.toSorted());
    expect(all.callCount()).toBeGreaterThan(400);
    expect(all.callCount()).toBeLessThanOrEqual(404);
  });

  test("goes on after an outage of Temporal where it was", async () => {
    const all = await reservationsWithoutRuns((_, call) =>
      call > 150 && call <= 400 ? unavailable() : undefined,
    );
    const { counts, attempts } = await startAll(all.deps);
    expect(attempts).toBeGreaterThan(2);
    expect(counts).toEqual({ started: 400, failed: 0, failures: [] });
    expect([...all.started.values()]).toEqual(Array(400).fill(1));
  });

  test("starts the others when one start is always refused", async () => {
    const invalid = Object.assign(new Error("3 INVALID_ARGUMENT: too long"), { code: 3 });
    const all = await reservationsWithoutRuns(({ reservationId }) =>
      reservationId === "r-17" ? invalid : undefined,
    );
    const { counts, attempts } = await startAll(all.deps);
    const failures = [{ program_id: programId, reservation_id: "r-17", reason: "INTERNAL" }];
    expect({ counts, attempts }).toEqual({
      counts: { started: 399, failed: 1, failures },
      attempts: 1,
    });
    expect(all.started.size).toBe(399);
    expect(await all.recordOf("r-17")).toMatchObject({ state: "PENDING" });
  });
});

describe("the pages of pending records", () => {
  test("have each record once, in one read of each shard", async () => {
    const { deps, reserve, addProgram } = createReservationFixture();
    addProgram("q");
    for (const id of namesOf(300)) await reserve(id, { inMs: 60_000 });
    await reserve("r-0", { programId: "q" });
    const read = vi.fn(deps.reader.pendingInShard);
    const programs = vi.fn(() => readAllPrograms(deps));
    const page = recordPages(
      { reader: { ...deps.reader, pendingInShard: read } },
      { window: { start: undefined, end: undefined }, programs, isWanted: () => true },
    );
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { items, cursor: next } = await page(cursor);
      found.push(...items.map((record) => `${record.programId} ${idOf(record)}`));
      cursor = next;
    } while (cursor !== undefined);
    expect(found.toSorted()).toEqual([...namesOf(300).map((id) => `p ${id}`), "q r-0"].toSorted());
    expect(read).toHaveBeenCalledTimes(2 * shardCount);
    expect(programs).toHaveBeenCalledTimes(1);
  });

  test("are read of 16 shards at once, and an outage fails the read that comes to it", async () => {
    const { deps, addProgram } = createReservationFixture();
    for (const id of ["q", "r"]) addProgram(id);
    let running = 0;
    let most = 0;
    const reader: Deps["reader"] = {
      ...deps.reader,
      async pendingInShard(of, shard, window, options) {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        if (of === "q" && shard === 3) {
          throw new DomainError("STORE_UNAVAILABLE", "away");
        }
        return deps.reader.pendingInShard(of, shard, window, options);
      },
    };
    const window = { start: undefined, end: undefined };
    const programs = () => readAllPrograms(deps);
    const page = recordPages({ reader }, { window, programs, isWanted: () => true });
    let cursor: string | undefined;
    let pages = 0;
    const readAll = async () => {
      do {
        ({ cursor } = await page(cursor));
        pages += 1;
      } while (cursor !== undefined);
    };
    await expect(readAll()).rejects.toThrow("away");
    expect(most).toBe(16);
    // Those of the first program, and three shards of the second one.
    expect(pages).toBe(shardCount + heldShardCount + 3);
  });
});
