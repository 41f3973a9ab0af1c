/** Tests what sweeps and the reconciler do with holds, on the store in memory. */
import { describe, expect, test, vi } from "vitest";
import type { Hold } from "../../../src/holds/rules/hold.ts";
import { capturePoints, holdPoints } from "../../../src/holds/use-cases/commands.ts";
import { getHold } from "../../../src/holds/use-cases/queries.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { startAllRuns } from "../../../src/reservations/use-cases/start-all-runs.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import {
  createReservationFixture,
  programId,
  spiedWorkflows,
} from "../../support/fixtures/memory-reservations.ts";
import { nothingOverdue, sweepAll } from "../../support/fixtures/sweep-overdue.ts";

const minute = 60_000;
const noFailure = (_: unknown, error: unknown) => expect.unreachable(String(error));
const observers = { onDone: () => {}, onFailed: noFailure };

/** A fixture with 100 points for a user of each program, who holds 10 of them for a minute. */
async function withHolds(ids: readonly string[], workflows = spiedWorkflows()) {
  const fixture = createReservationFixture(workflows);
  const { deps, clock } = fixture;
  const call = (of: string) => ({
    ...{ programId: of, userId: "u", reason: "", caller: asService("tests") },
    deadline: undefined,
  });
  const hold = async (holdId: string, of = programId) => {
    await grantPoints(deps, { ...call(of), eventId: `g-${holdId}`, points: 100 });
    await holdPoints(deps, {
      ...{ ...call(of), holdId, points: 10, allowPartial: false, until: clock.time + minute },
      expiredPointsPolicy: "ORIGINAL_EXPIRY",
    });
  };
  for (const id of ids) await hold(id);
  const capture = (holdId: string) =>
    capturePoints(deps, {
      ...{ ...call(programId), holdId, eventId: "c", points: undefined, moreFollow: false },
    });
  const stateOf = async (holdId: string, of = programId) =>
    (await getHold(deps, { programId: of, holdId })).hold.state;
  return { ...fixture, workflows, hold, capture, stateOf };
}

const runOf = (holdId: string) => ({
  ...{ programId, holdId, runId: `run of ${holdId}` },
  startTime: 0,
});

/** The holds for which Temporal was called, and their states. */
const endsIn = ({ mock }: { mock: { calls: readonly (readonly unknown[])[] } }) =>
  mock.calls.map(([hold]) => [(hold as Hold).holdId, (hold as Hold).state]);

async function* runsOf(...ids: string[]) {
  yield* ids.map(runOf);
}

describe("holds that are overdue", () => {
  test("are released 1 s after their time, those that have ended are not", async () => {
    const { deps, clock, capture, stateOf } = await withHolds(["a", "b", "c"]);
    await capture("b");
    clock.time += minute + 1_000;
    expect(await sweepAll(deps, observers)).toEqual(nothingOverdue);
    clock.time += 1;
    const counts = await sweepAll(deps, observers);
    expect(counts).toEqual({ ...nothingOverdue, overdue: 2, released: 2, oldestMs: 1_001 });
    expect(await Promise.all(["a", "b", "c"].map((id) => stateOf(id)))).toEqual([
      ...["EXPIRED", "CAPTURED", "EXPIRED"],
    ]);
  });

  test("are released also in paused programs, whose reservations wait", async () => {
    const { deps, clock, hold, stateOf, addProgram, reserve, recordOf } = await withHolds([]);
    addProgram("paused", { time: 0, caller: asService("tests"), reason: "" });
    await hold("h", "paused");
    await reserve("r", { programId: "paused" });
    clock.time += 2 * minute;
    const counts = await sweepAll(deps, observers);
    expect(counts).toMatchObject({ overdue: 1, granted: 0, released: 1 });
    expect(await stateOf("h", "paused")).toBe("EXPIRED");
    expect((await recordOf("r", "paused")).state).toBe("PENDING");
  });

  test("that fail are named, and the rest are released", async () => {
    const { deps, clock, store, stateOf } = await withHolds(["a", "b"]);
    const { hold: found } = await getHold(deps, { programId, holdId: "a" });
    store.force({ kind: "hold", id: `${programId}#a` }, { ...found, userId: "nobody" });
    clock.time += 2 * minute;
    const onFailed = () => {};
    const counts = await sweepAll(deps, { ...observers, onFailed });
    expect(counts).toMatchObject({ released: 1, failed: 1 });
    expect(counts.failures).toEqual([{ programId, holdId: "a", reason: "WRONG_STATE" }]);
    expect(await stateOf("b")).toBe("EXPIRED");
  });
});

test("a shard of holds that cannot be read is named as such", async () => {
  const { deps, clock } = await withHolds(["a"]);
  clock.time += 2 * minute;
  const reader: typeof deps.reader = {
    ...deps.reader,
    async heldInShard(programId, shard, window, page) {
      if (shard === 3) throw new TypeError("no number");
      return deps.reader.heldInShard(programId, shard, window, page);
    },
  };
  const onFailed = () => {};
  const all = { ...observers, onFailed };
  const counts = await sweepAll({ ...deps, reader }, all);
  expect(counts.failures).toEqual([
    { programId, holdId: "(shard 3 of holds)", reason: "INTERNAL" },
  ]);
});

describe("the runs of holds", () => {
  test("are started for all that are HELD after the loss of a namespace", async () => {
    const { deps, workflows, capture } = await withHolds(["a", "b"]);
    await capture("b");
    const none = { started: 0, failed: 0, failures: [] };
    expect(await startAllRuns(deps, none, () => true, noFailure)).toEqual({ ...none, started: 1 });
    expect(workflows.startHold.mock.calls.map(([{ holdId }]) => holdId)).toEqual(["a"]);
  });

  test("that broke are started again while the hold is HELD", async () => {
    const broken = spiedWorkflows({ brokenRuns: () => runsOf("a", "b", "unknown") });
    const { deps, workflows, capture } = await withHolds(["a", "b"], broken);
    await capture("b");
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ restarted: 1, failed: 0 });
    expect(workflows.startHold.mock.calls.map(([{ holdId }]) => holdId)).toEqual(["a"]);
  });

  test("that broke are started again to show that the hold has timed out", async () => {
    const broken = spiedWorkflows({ brokenRuns: () => runsOf("a", "b") });
    const { deps, clock, workflows, capture } = await withHolds(["a", "b"], broken);
    await capture("b");
    clock.time += minute;
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ restarted: 0, failed: 0 });
    clock.time += minute;
    await sweepAll(deps, observers);
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ restarted: 1, failed: 0 });
    expect(endsIn(workflows.startHold)).toEqual([["a", "EXPIRED"]]);
    // Runs that fail again and again are not started for ever.
    clock.time += 10 * minute;
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ restarted: 0, failed: 0 });
  });

  test("are signalled by the sweep that has released the hold", async () => {
    const { deps, clock, workflows, capture } = await withHolds(["a", "b"]);
    await capture("b");
    workflows.refreshHold.mockClear();
    clock.time += 2 * minute;
    const tasks: (() => Promise<void>)[] = [];
    const background = (task: () => Promise<void>) => void tasks.push(task);
    for (const _ of [1, 2]) await sweepAll({ ...deps, background }, observers);
    for (const task of tasks) await task();
    expect(endsIn(workflows.refreshHold)).toEqual([["a", "EXPIRED"]]);
  });

  test("are not signalled while Temporal is away", async () => {
    const { deps, clock } = await withHolds(["a"]);
    const workflows = { ...deps.workflows, isAway: () => true };
    clock.time += 2 * minute;
    const background = vi.fn();
    expect(await sweepAll({ ...deps, workflows, background }, observers)).toMatchObject({
      released: 1,
    });
    expect(background).not.toHaveBeenCalled();
  });

  test("that make no progress are terminated two minutes after the end of the hold", async () => {
    const stuck = spiedWorkflows({ overdueRuns: () => runsOf("a", "b", "unknown") });
    const { deps, clock, workflows, capture } = await withHolds(["a", "b"], stuck);
    await capture("b");
    clock.time += 2 * minute - 1;
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ terminated: 1 });
    clock.time += 1;
    workflows.terminateRun.mockClear();
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ terminated: 2 });
    expect(workflows.terminateRun.mock.calls).toEqual([
      [runOf("b"), expect.stringContaining("the hold is CAPTURED")],
      [runOf("unknown"), expect.stringContaining("the hold does not exist")],
    ]);
  });
});
