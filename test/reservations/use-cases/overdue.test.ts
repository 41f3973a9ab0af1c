/** Tests the sweep over overdue reservations. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import { createDueMemory } from "../../../src/reservations/use-cases/due-reads.ts";
import { executeOverdue } from "../../../src/reservations/use-cases/overdue.ts";
import {
  createReservationFixture,
  programId,
  spiedWorkflows,
} from "../../support/fixtures/memory-reservations.ts";
import { nothingOverdue, sweepAll } from "../../support/fixtures/sweep-overdue.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `r-${i}`);

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
  test("executes what is overdue by more than 1 s, and asks Temporal nothing", async () => {
    const workflows = spiedWorkflows();
    const { deps, reserve, recordOf, force, entryCount } = createReservationFixture(workflows);
    await reserve("hours", { inMs: -3_600_000 });
    await reserve("just-overdue", { inMs: -1_001 });
    await reserve("not-yet", { inMs: -1_000 });
    await reserve("later", { inMs: 60_000 });
    await reserve("cancelled");
    await force("cancelled", (reservation) => ({ ...reservation, state: "CANCELLED" }));
    const done: string[] = [];
    const counts = await sweepAll(deps, {
      onDone: (reservation) => done.push(reservation.reservationId),
    });
    expect(counts).toMatchObject({
      ...nothingOverdue,
      overdue: 2,
      granted: 2,
      oldestMs: 3_600_000,
    });
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
    expect(await sweepAll(deps, {})).toEqual(nothingOverdue);
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
    const onRefused = vi.fn();
    const counts = await sweepAll(failingFor(deps, errors), { onFailed, onRefused });
    expect(counts).toMatchObject({ overdue: 49, granted: 48, refused: 1, failed: 2 });
    const refused = expect.objectContaining({ reservationId: "refused", state: "FAILED" });
    expect(onRefused.mock.calls).toEqual([[refused]]);
    expect(counts.failures.toSorted((a, b) => (a.reason < b.reason ? -1 : 1))).toEqual([
      { programId, reservationId: "r-7", reason: "CONTENDED" },
      { programId, reservationId: "r-33", reason: "INTERNAL" },
    ]);
    expect(onFailed).toHaveBeenCalledTimes(2);
    expect(await recordOf("refused")).toMatchObject({ state: "FAILED" });
    for (const id of ["r-7", "r-33"])
      expect(await recordOf(id)).toMatchObject({ state: "PENDING" });
    expect(await sweepAll(deps, {})).toMatchObject({ overdue: 2, granted: 2, failed: 0 });
  });

  test("ends with the outage of the store, and the next sweep does the rest", async () => {
    const { deps, reserve, entryCount } = createReservationFixture();
    const ids = namesOf(60);
    for (const id of ids) await reserve(id);
    let transactions = 0;
    const transact: Deps["engine"]["transact"] = (request) => {
      transactions += 1;
      if (transactions > 30) return Promise.reject(new DomainError("STORE_UNAVAILABLE", "away"));
      return deps.engine.transact(request);
    };
    const onFailed = () => expect.unreachable("none fails alone");
    const away = sweepAll({ ...deps, engine: { transact } }, { onFailed });
    await expect(away).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    // It does not try all of them.
    expect(transactions).toBeLessThan(30 + 2 * 60);
    expect(await sweepAll(deps, { onFailed })).toMatchObject({ granted: 30, failed: 0 });
    for (const id of ids) expect(await entryCount(id)).toBe(1);
  });

  test("leaves a throttled program alone for 15 s, and executes the others", async () => {
    const { deps, reserve, addProgram, clock } = createReservationFixture();
    addProgram("hot");
    for (const id of namesOf(20)) {
      await reserve(id, { programId: "hot" });
      await reserve(id);
    }
    const error = new DomainError("THROTTLED", "the index of a busy program");
    const pendingInShard = vi.fn<Deps["reader"]["pendingInShard"]>((of, ...rest) =>
      of === "hot" ? Promise.reject(error) : deps.reader.pendingInShard(of, ...rest),
    );
    const reader = { ...deps.reader, pendingInShard };
    const onFailed = vi.fn();
    const memory = createDueMemory();
    const sweep = () => sweepAll({ ...deps, reader }, { onFailed }, memory);
    expect(await sweep()).toMatchObject({ granted: 20, failed: 1 });
    expect(onFailed).toHaveBeenCalledExactlyOnceWith({ programId: "hot" }, error);
    pendingInShard.mockImplementation(deps.reader.pendingInShard);
    clock.time += 14_999;
    expect(await sweep()).toMatchObject({ granted: 0, failed: 1 });
    clock.time += 1;
    expect(await sweep()).toMatchObject({ granted: 20, failed: 0 });
  });

  test("throws when no program can be read", async () => {
    const { deps, reserve } = createReservationFixture();
    await reserve("r");
    const error = new DomainError("THROTTLED", "the table");
    const reader = { ...deps.reader, pendingInShard: () => Promise.reject(error) };
    await expect(sweepAll({ ...deps, reader }, {})).rejects.toBe(error);
  });

  test("executes the other programs when the record of one is damaged", async () => {
    const { deps, reserve, addProgram } = createReservationFixture();
    addProgram("damaged");
    await reserve("r", { programId: "damaged" });
    await reserve("r");
    const read: Deps["programs"]["read"] = (of) =>
      of === "damaged" ? Promise.reject(new TypeError("no number")) : deps.programs.read(of);
    const recent: Deps["programs"]["recent"] = (of, maxAgeMs) =>
      of === "damaged" ? undefined : deps.programs.recent(of, maxAgeMs);
    const programs = { ...deps.programs, read, recent };
    const counts = await sweepAll({ ...deps, programs }, {});
    expect(counts).toMatchObject({ granted: 1, failed: 1 });
  });

  test("gives each program one turn, and goes on where it ended", async () => {
    const { deps, reserve, addProgram } = createReservationFixture();
    const programIds = Array.from({ length: 9 }, (_, i) => `a-${i}`);
    for (const id of programIds) {
      addProgram(id);
      for (const reservationId of namesOf(40)) await reserve(reservationId, { programId: id });
    }
    // Each begins with its first shard, and a page takes a whole turn.
    vi.spyOn(Math, "random").mockReturnValue(0);
    const now = performance.now.bind(performance);
    let passedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    const reader: Deps["reader"] = {
      ...deps.reader,
      pendingInShard(...read) {
        passedMs += 5_000;
        return deps.reader.pendingInShard(...read);
      },
    };
    const done = new Map(programIds.map((id) => [id, 0]));
    const observers = {
      onDone: ({ programId: of }: Reservation) => void done.set(of, (done.get(of) ?? 0) + 1),
      onFailed: () => expect.unreachable("none fails"),
    };
    const memory = createDueMemory();
    const sweep = () => executeOverdue({ ...deps, reader }, observers, undefined, memory);
    let sweeps = 1;
    for (; !(await sweep()).isWhole; sweeps += 1) {
      const counts = [...done.values()];
      // No shard has more than half of the forty.
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(20);
    }
    expect(sweeps).toBeGreaterThan(5);
    expect([...done.values()]).toEqual(Array(9).fill(40));
  });

  test("does not stay at a place where a program fails", async () => {
    const { deps, reserve } = createReservationFixture();
    for (const id of namesOf(40)) await reserve(id);
    // From the first shard on.
    vi.spyOn(Math, "random").mockReturnValue(0);
    const now = performance.now.bind(performance);
    let passedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    let isThrottled = false;
    const reader: Deps["reader"] = {
      ...deps.reader,
      pendingInShard(...read) {
        // A page takes a whole turn.
        passedMs += 5_000;
        return isThrottled
          ? Promise.reject(new DomainError("THROTTLED", "a hot partition"))
          : deps.reader.pendingInShard(...read);
      },
    };
    const memory = createDueMemory();
    const observers = { onDone() {}, onFailed() {} };
    const sweep = () => executeOverdue({ ...deps, reader }, observers, undefined, memory);
    expect(await sweep()).toMatchObject({ isWhole: false });
    expect(memory.cursors.size).toBe(1);
    isThrottled = true;
    await expect(sweep()).rejects.toMatchObject({ reason: "THROTTLED" });
    expect(memory.cursors.size).toBe(0);
  });

  test("leaves alone for 30 s what an activity of its process holds", async () => {
    const { deps, reserve } = createReservationFixture();
    await reserve("held", { inMs: -30_000 });
    await reserve("held-for-long", { inMs: -30_001 });
    const isHeld = () => true;
    expect(await sweepAll(deps, { isHeld })).toMatchObject({ overdue: 1, granted: 1 });
  });

  test("leaves alone for 15 s what has failed, and counts it as failed meanwhile", async () => {
    const { deps, reserve, clock } = createReservationFixture();
    await reserve("r");
    const errors = { r: new TypeError("unexpected") };
    const onFailed = vi.fn();
    const memory = createDueMemory();
    const sweep = () => sweepAll(failingFor(deps, errors), { onFailed }, memory);
    expect(await sweep()).toMatchObject({ failed: 1, oldestMs: 60_000 });
    clock.time += 14_999;
    expect(await sweep()).toMatchObject({ failed: 1, oldestMs: 74_999 });
    expect(onFailed).toHaveBeenCalledTimes(1);
    clock.time += 1;
    expect(await sweep()).toMatchObject({ failed: 1, oldestMs: 75_000 });
    expect(onFailed).toHaveBeenCalledTimes(2);
    // A clock that is set back makes what is kept worthless.
    clock.time -= 3;
    await sweep();
    expect(onFailed).toHaveBeenCalledTimes(3);
  });

  test("of two processes at once grants each reservation once", async () => {
    const { deps, reserve, entryCount } = createReservationFixture();
    const ids = namesOf(60);
    for (const id of ids) await reserve(id);
    const counts = await Promise.all([sweepAll(deps, {}), sweepAll(deps, {})]);
    for (const each of counts) expect(each).toMatchObject({ failed: 0, refused: 0 });
    for (const id of ids) expect(await entryCount(id)).toBe(1);
  });

  test("ends before the next record when its process stops", async () => {
    const { deps, reserve } = createReservationFixture();
    for (const id of namesOf(60)) await reserve(id);
    const stopping = new AbortController();
    const observers = {
      onDone: () => stopping.abort(),
      onFailed: () => expect.unreachable("none fails"),
    };
    const { granted } = await executeOverdue(deps, observers, stopping.signal);
    expect(granted).toBeGreaterThan(0);
    expect(granted).toBeLessThan(60);
    expect(await sweepAll(deps, {})).toMatchObject({ granted: 60 - granted });
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
    const counts = await sweepAll({ ...deps, reader }, {});
    expect(skipped).toBeGreaterThan(0);
    expect(counts).toMatchObject({ granted: 80 - skipped, failed: 1 });
    expect(counts.failures).toEqual([
      { programId: "damaged", reservationId: "(shard 3 of PENDING)", reason: "INTERNAL" },
    ]);
  });
});
