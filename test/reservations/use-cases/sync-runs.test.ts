/** Tests how workflow runs are brought in line with their records. */

import { describe, expect, test, vi } from "vitest";
import { markStart } from "../../../src/due/use-cases/marks.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import {
  cancelReservation,
  rescheduleReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import {
  change,
  createReservationFixture,
  programId,
  spiedWorkflows,
} from "../../support/fixtures/memory-reservations.ts";
import { markedIds } from "../../support/fixtures/pending-starts.ts";
import { idOf } from "../../support/fixtures/record-names.ts";

const hour = 3_600_000;
const nothing = { synced: 0, restarted: 0, terminated: 0, failed: 0 };
const noFailure = () => expect.unreachable("none should fail");

const runOf = (reservationId: string) => ({
  programId,
  reservationId,
  runId: `run-${reservationId}`,
  startTime: 0,
});

async function* runsOf(...ids: string[]) {
  yield* ids.map(runOf);
}

const unavailable = () => new DomainError("WORKFLOWS_UNAVAILABLE", "away");

describe("a change that may be lost", () => {
  test("is sent again after 10 s, and then not again", async () => {
    const workflows = spiedWorkflows();
    const { deps, clock, reserve } = createReservationFixture(workflows);
    for (const id of ["created", "moved", "cancelled"]) await reserve(id, { inMs: hour });
    const executeTime = clock.time + 2 * hour;
    await rescheduleReservation(deps, { ...change, reservationId: "moved", executeTime });
    await cancelReservation(deps, { ...change, reservationId: "cancelled" });
    clock.time += 10_000;
    expect(await syncRuns(deps, 0, noFailure)).toEqual(nothing);
    await reserve("young", { inMs: hour });
    clock.time += 1;
    expect(await syncRuns(deps, 0, noFailure)).toEqual({ ...nothing, synced: 3 });
    const sent = (spy: { mock: { calls: [Reservation, string, ...unknown[]][] } }) =>
      spy.mock.calls.map(([reservation, timeZone]) => [
        reservation.reservationId,
        reservation.executeTime,
        timeZone,
      ]);
    const created = ["created", clock.time - 10_001 + hour, "Asia/Tokyo"];
    expect(sent(workflows.startReservation)).toEqual([created]);
    expect(sent(workflows.refreshReservation)).toEqual([["moved", executeTime, "Asia/Tokyo"]]);
    expect(workflows.cancelReservationRun).toHaveBeenCalledTimes(1);
    expect(workflows.cancelReservationRun.mock.calls[0]?.[0]).toMatchObject({
      reservationId: "cancelled",
    });
    expect(await markedIds(deps, programId)).toEqual(["young"]);
    expect(await syncRuns(deps, 0, noFailure)).toEqual(nothing);
    clock.time += 10_000;
    expect(await syncRuns(deps, 0, noFailure)).toEqual({ ...nothing, synced: 1 });
  });

  test("stays marked when it cannot be sent, and when the record changes meanwhile", async () => {
    const workflows = spiedWorkflows({
      async refreshReservation({ reservationId }) {
        if (reservationId === "away") throw unavailable();
        const executeTime = clock.time + 2 * hour;
        await rescheduleReservation(deps, { ...change, reservationId, executeTime });
      },
    });
    const { deps, clock, reserve } = createReservationFixture(workflows);
    const ids = ["away", "moved-meanwhile"];
    for (const id of ids) await reserve(id, { inMs: hour });
    clock.time += 20_000;
    expect(await syncRuns(deps, 0, noFailure)).toEqual({ ...nothing, synced: 2 });
    const executeTime = clock.time + 3 * hour;
    for (const reservationId of ids) {
      await rescheduleReservation(deps, { ...change, reservationId, executeTime });
    }
    clock.time += 20_000;
    const onFailed = vi.fn();
    expect(await syncRuns(deps, 0, onFailed)).toEqual({ ...nothing, synced: 1, failed: 1 });
    expect(onFailed.mock.calls[0]?.[0]).toMatchObject({ programId, reservationId: "away" });
    expect((await markedIds(deps, programId)).toSorted()).toEqual(ids);
  });
});

test("the mark of a change stays while the change may be written yet", async () => {
  const { deps, clock, reserve } = createReservationFixture(spiedWorkflows());
  await reserve("r", { inMs: hour });
  clock.time += 10_001;
  expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ synced: 1 });
  await markStart(deps, { programId, reservationId: "r" });
  clock.time += 10_001;
  expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ synced: 1 });
  expect(await markedIds(deps, programId)).toEqual(["r"]);
  clock.time += 300_000;
  expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ synced: 1 });
  expect(await markedIds(deps, programId)).toEqual([]);
});

test("a run that has ended is started again if its reservation is pending", async () => {
  const ids = ["pending", "done", "cancelled", "unknown"];
  const workflows = spiedWorkflows({ brokenRuns: () => runsOf(...ids) });
  const { deps, reserve, clock } = createReservationFixture(workflows);
  await reserve("pending", { inMs: hour });
  await reserve("done");
  await executeReservation(deps, { programId, reservationId: "done", userId: "done" });
  await reserve("cancelled");
  await cancelReservation(deps, { ...change, reservationId: "cancelled" });
  const since = clock.time - hour;
  expect(await syncRuns(deps, since, noFailure)).toEqual({ ...nothing, restarted: 1 });
  expect(workflows.brokenRuns).toHaveBeenCalledExactlyOnceWith(since);
  expect(workflows.startReservation).toHaveBeenCalledTimes(1);
  expect(workflows.startReservation.mock.calls[0]?.[0]).toMatchObject({
    reservationId: "pending",
  });
});

describe("a run without progress", () => {
  test("ends when its record has been final for two minutes, or does not exist", async () => {
    const ids = ["pending", "done", "cancelled", "unknown"];
    const workflows = spiedWorkflows({ overdueRuns: () => runsOf(...ids) });
    const { deps, reserve, clock } = createReservationFixture(workflows);
    for (const id of ["pending", "done", "cancelled"]) await reserve(id);
    await executeReservation(deps, { programId, reservationId: "done", userId: "done" });
    await cancelReservation(deps, { ...change, reservationId: "cancelled" });
    clock.time += 119_999;
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ terminated: 1 });
    expect(workflows.terminateRun.mock.calls.map(([run]) => run)).toEqual([runOf("unknown")]);
    clock.time += 1;
    workflows.terminateRun.mockClear();
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ terminated: 3 });
    expect(workflows.overdueRuns).toHaveBeenLastCalledWith(clock.time - 120_000);
    const reasonOf = Object.fromEntries(
      workflows.terminateRun.mock.calls.map(([run, reason]) => [idOf(run), reason]),
    );
    expect(Object.keys(reasonOf).toSorted()).toEqual(["cancelled", "done", "unknown"]);
    expect(reasonOf.done).toContain("the reservation is DONE");
    expect(reasonOf.cancelled).toContain("the reservation is CANCELLED");
    expect(reasonOf.unknown).toContain("does not exist");
  });

  test("goes on when it began less than two minutes ago", async () => {
    let run = { ...runOf("done"), startTime: 0 };
    const workflows = spiedWorkflows({
      async *overdueRuns() {
        yield run;
      },
    });
    const { deps, reserve, clock } = createReservationFixture(workflows);
    await reserve("done");
    await executeReservation(deps, { programId, reservationId: "done", userId: "done" });
    clock.time += hour;
    run = { ...run, startTime: clock.time - 119_999 };
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ terminated: 0 });
    clock.time += 1;
    expect(await syncRuns(deps, 0, noFailure)).toMatchObject({ terminated: 1 });
  });

  test("that cannot be terminated is counted, and the others are", async () => {
    const workflows = spiedWorkflows({
      overdueRuns: () => runsOf("stuck", "other"),
      async terminateRun(run) {
        if (idOf(run) === "stuck") throw unavailable();
      },
    });
    const { deps } = createReservationFixture(workflows);
    const onFailed = vi.fn();
    const counts = await syncRuns(deps, 0, onFailed);
    expect(counts).toEqual({ ...nothing, terminated: 1, failed: 1 });
    expect(onFailed).toHaveBeenCalledExactlyOnceWith(runOf("stuck"), expect.any(DomainError));
  });
});

test("the check ends with WORKFLOWS_UNAVAILABLE when Temporal lists no runs", async () => {
  // biome-ignore lint/correctness/useYield: a list whose first page fails.
  const brokenRuns = async function* () {
    throw unavailable();
  };
  const { deps } = createReservationFixture(spiedWorkflows({ brokenRuns }));
  await expect(syncRuns(deps, 0, noFailure)).rejects.toMatchObject({
    reason: "WORKFLOWS_UNAVAILABLE",
  });
});
