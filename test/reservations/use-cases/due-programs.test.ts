/** Tests of which programs sweeps read what is due. */
import { expect, test, vi } from "vitest";
import { dueHourShardCount } from "../../../src/due/ports/due.ts";
import { createDueHours } from "../../../src/due/runtime/due-hours.ts";
import { holdPoints } from "../../../src/holds/use-cases/commands.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import type { Engine } from "../../../src/platform/ports/engine.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { readAllPrograms } from "../../../src/points/use-cases/programs/queries.ts";
import {
  createReservation,
  rescheduleReservation,
  retryReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import {
  dueProgramIds,
  endDueHours,
  restoreDueHours,
} from "../../../src/reservations/use-cases/due-programs.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { startAllRuns } from "../../../src/reservations/use-cases/start-all-runs.ts";
import {
  change,
  createReservationFixture,
  programId,
} from "../../support/fixtures/memory-reservations.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";

const minute = 60_000;
const hour = 60 * minute;
const observers = { onDone: () => {}, onFailed: () => expect.unreachable("none fails") };
const noFailure = (_: string, error: unknown) => expect.unreachable(String(error));

/** A fixture at the half of an hour. */
function setUp() {
  const fixture = createReservationFixture();
  const { deps, clock, addProgram } = fixture;
  clock.time = Math.floor(clock.time / hour) * hour + 30 * minute;
  addProgram("other");
  return {
    ...fixture,
    due: () => dueProgramIds(deps, clock.time),
    end: () => endDueHours(deps, noFailure),
    execute: () => sweepAll(deps, observers),
  };
}

test("a program is read from the hour on in which something is due, until it is done", async () => {
  const { clock, due, end, execute, reserve } = setUp();
  expect(await due()).toEqual([]);
  await reserve("r", { inMs: hour });
  expect(await due()).toEqual([]);
  clock.time += 30 * minute;
  expect(await due()).toContain(programId);
  // The hour is over, and its reservation is not granted.
  clock.time += hour + 20 * minute;
  await end();
  expect(await due()).toEqual([programId]);
  expect(await execute()).toMatchObject({ granted: 1 });
  await end();
  expect(await due()).toEqual([]);
});

test("an hour stays for five minutes after its end", async () => {
  const { clock, due, end, reserve } = setUp();
  await reserve("r", { inMs: 2 * hour });
  await reserve("now", { inMs: 0 });
  clock.time += 34 * minute;
  await end();
  expect(await due()).toEqual([programId]);
});

test("what is due already falls into the current hour", async () => {
  const { due, reserve } = setUp();
  await reserve("past", { inMs: -5 * hour });
  expect(await due()).toEqual([programId]);
});

test("a reservation that is moved or retried, and a hold, have their hours", async () => {
  const moved = setUp();
  await moved.reserve("r", { inMs: 50 * hour });
  const executeTime = moved.clock.time + 1;
  await rescheduleReservation(moved.deps, { ...change, reservationId: "r", executeTime });
  expect(await moved.due()).toEqual([programId]);

  const retried = setUp();
  await retried.reserve("r", { inMs: hour });
  await retried.force("r", (record) => ({ ...record, state: "FAILED", executeTime: 0 }));
  await retryReservation(retried.deps, { ...change, reservationId: "r" });
  expect(await retried.due()).toEqual([programId]);

  const held = setUp();
  const call = { programId, userId: "u", reason: "", caller: change.caller, deadline: undefined };
  await grantPoints(held.deps, { ...call, eventId: "g", points: 100 });
  await holdPoints(held.deps, {
    ...{ ...call, holdId: "h", points: 10, allowPartial: false },
    ...{ until: held.clock.time + hour, expiredPointsPolicy: "ORIGINAL_EXPIRY" },
  });
  held.clock.time += hour;
  expect(await held.due()).toEqual([programId]);
});

test("a paused program keeps its hours, and its reservations are granted afterwards", async () => {
  const { clock, due, end, execute, addProgram, reserve } = setUp();
  await reserve("r");
  addProgram(programId, { time: 0, caller: change.caller, reason: "" });
  clock.time += 25 * hour;
  expect(await execute()).toMatchObject({ granted: 0, failed: 0 });
  await end();
  expect(await due()).toEqual([programId]);
  addProgram(programId);
  expect(await execute()).toMatchObject({ granted: 1 });
});

test("a paused program keeps one hour of those that have ended", async () => {
  const { deps, clock, end, addProgram, reserve } = setUp();
  addProgram(programId, { time: 0, caller: change.caller, reason: "" });
  for (let i = 0; i < 5; i++) await reserve(`r-${i}`, { inMs: i * hour });
  clock.time += 3 * hour;
  await end();
  const shards = Array.from({ length: dueHourShardCount }, (_, shard) =>
    allItems((page) => deps.reader.dueHours(shard, clock.time + 2 * hour, page)),
  );
  const hours = (await Promise.all(shards)).flat().map((each) => each.hour);
  // The one that began an hour and a half ago, this one, and the next one.
  const current = Math.floor(clock.time / hour) * hour;
  expect(hours.toSorted()).toEqual([current - hour, current, current + hour]);
});

test("all programs are read while their hours cannot be, and an outage is thrown", async () => {
  const { deps } = setUp();
  const failing = (error: Error) => ({
    ...deps,
    reader: { ...deps.reader, dueHours: () => Promise.reject(error) },
  });
  const found = await dueProgramIds(failing(new TypeError("no number")), 0);
  expect(found).toEqual(["other", programId]);
  const away = new DomainError("STORE_UNAVAILABLE", "away");
  await expect(dueProgramIds(failing(away), 0)).rejects.toBe(away);
});

test("a hold with an end that is refused writes no hour", async () => {
  const { deps, clock } = setUp();
  const mark = vi.fn(async () => {});
  const call = { programId, userId: "u", reason: "", caller: change.caller, deadline: undefined };
  const held = holdPoints(
    { ...deps, dueHours: { mark } },
    {
      ...{ ...call, holdId: "h", points: 10, allowPartial: false },
      ...{ until: clock.time + 91 * 24 * hour, expiredPointsPolicy: "ORIGINAL_EXPIRY" },
    },
  );
  await expect(held).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  expect(mark).not.toHaveBeenCalled();
});

test("the full pass after a restore writes the hours again", async () => {
  const { deps, clock, reserve } = setUp();
  await reserve("r", { inMs: 50 * hour });
  const mark = vi.fn(async () => {});
  const none = { started: 0, failed: 0, failures: [] };
  await startAllRuns({ ...deps, dueHours: { mark } }, none, () => true, observers.onFailed);
  expect(mark).toHaveBeenCalledExactlyOnceWith(programId, clock.time + 50 * hour, undefined);
});

test("a program that cannot be read keeps its hours, and the others end theirs", async () => {
  const { deps, clock, due, reserve } = setUp();
  const error = new TypeError("no number");
  for (const of of [programId, "other"]) {
    await reserve("r", { programId: of, inMs: 0 });
    await executeReservation(deps, { programId: of, reservationId: "r", userId: "r" });
  }
  clock.time += 2 * hour;
  const reader: Deps["reader"] = {
    ...deps.reader,
    pendingInShard: (of, ...rest) =>
      of === "other" ? Promise.reject(error) : deps.reader.pendingInShard(of, ...rest),
  };
  const onFailed = vi.fn();
  await endDueHours({ ...deps, reader }, onFailed);
  expect(onFailed).toHaveBeenCalledExactlyOnceWith("other", error);
  expect(await due()).toEqual(["other"]);
});

test("a record without an hour is found within a day all the same", async () => {
  const { deps, clock, execute, reserve } = setUp();
  // As in a table that was restored without the hours.
  const dueHours = { mark: async () => {} };
  await createReservation(
    { ...deps, dueHours },
    {
      ...{ programId, reservationId: "r", userId: "u", points: 10, reason: "" },
      ...{ executeTime: clock.time, caller: change.caller },
    },
  );
  await reserve("other", { programId: "other", inMs: 50 * hour });
  let granted = 0;
  for (let i = 0; i < 24 * 60; i++) {
    clock.time += minute;
    await restoreDueHours(deps, await readAllPrograms(deps), noFailure);
    granted += (await execute()).granted;
  }
  expect(granted).toBe(1);
});

test.each([
  { what: "cannot be read is written", error: new TypeError("no number"), marks: 2 },
  { what: "is away is not written", error: new DomainError("STORE_UNAVAILABLE", ""), marks: 0 },
])("the hour of a program with a shard that $what", async ({ error, marks }) => {
  const { deps, clock } = setUp();
  const pendingInShard: Deps["reader"]["pendingInShard"] = (of, shard, ...rest) =>
    shard === 3 ? Promise.reject(error) : deps.reader.pendingInShard(of, shard, ...rest);
  const mark = vi.fn(async () => {});
  const broken = { ...deps, reader: { ...deps.reader, pendingInShard }, dueHours: { mark } };
  const onFailed = vi.fn();
  for (let i = 0; i < 24 * 6; i++) {
    clock.time += 10 * minute;
    await restoreDueHours(broken, await readAllPrograms(deps), onFailed);
  }
  expect(onFailed.mock.calls.toSorted()).toEqual([
    ["other", error],
    [programId, error],
  ]);
  expect(mark).toHaveBeenCalledTimes(marks);
});

test("a sweep over idle programs reads none of them", async () => {
  const { deps, addProgram } = setUp();
  for (let i = 0; i < 200; i++) addProgram(`idle-${i}`);
  const programs = vi.fn(deps.reader.programs);
  const pendingInShard = vi.fn(deps.reader.pendingInShard);
  await sweepAll({ ...deps, reader: { ...deps.reader, programs, pendingInShard } }, observers);
  expect(programs).not.toHaveBeenCalled();
  expect(pendingInShard).not.toHaveBeenCalled();
});

test("a pass over idle programs reads only those that have their turn", async () => {
  const { deps, addProgram } = setUp();
  for (let i = 0; i < 200; i++) addProgram(`idle-${i}`);
  const pendingInShard = vi.fn(deps.reader.pendingInShard);
  const reader = { ...deps.reader, pendingInShard };
  await restoreDueHours({ ...deps, reader }, await readAllPrograms(deps), noFailure);
  const programs = pendingInShard.mock.calls.map(([id]) => id);
  // Each has its turn in 10 of the 1,440 minutes of a day.
  expect(programs).not.toEqual([]);
  expect(new Set(programs).size).toBeLessThanOrEqual(Math.ceil((202 * 10) / 1_440));
});

test("a process writes an hour once, and again when that has failed", async () => {
  const { deps, clock } = setUp();
  let isAway = true;
  let writes = 0;
  const transact: Engine["transact"] = async (request) => {
    writes += 1;
    if (isAway) throw new DomainError("STORE_UNAVAILABLE", "away");
    return deps.engine.transact(request);
  };
  const dueHours = createDueHours({ transact }, deps.clock);
  await expect(dueHours.mark("a", 0, undefined)).rejects.toMatchObject({
    reason: "STORE_UNAVAILABLE",
  });
  isAway = false;
  await dueHours.mark("a", 0, undefined);
  await dueHours.mark("a", clock.time, undefined);
  expect(writes).toBe(2);
  await dueHours.mark("b", 0, undefined);
  await dueHours.mark("a", clock.time + 30 * minute, undefined);
  expect(writes).toBe(4);
  await dueHours.mark("a", clock.time + 89 * minute, undefined);
  expect(writes).toBe(4);
});
