/** Tests that users are notified of reserved grants, and that no grant waits for or fails by it. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import { notifyMember } from "../../../src/feed/use-cases/notifications/notify.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import type { ReservationStep } from "../../../src/reservations/contract/reservations.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import { nothingOverdue, sweepAll } from "../../support/fixtures/sweep-overdue.ts";

vi.mock(import("../../../src/feed/use-cases/notifications/notify.ts"), () => ({
  notifyMember: vi.fn(),
}));
const notify = vi.mocked(notifyMember);
beforeEach(() => void notify.mockReset());

const id = "r-1";
const notice = {
  programId,
  userId: id,
  kind: "points-granted",
  eventId: "r.p.r-1",
  label: "10",
};

/** A due reservation in a program that notifies of reserved grants, unless the test says not. */
async function dueReservation({ notifies = true } = {}) {
  const fixture = createReservationFixture();
  const ref: Ref<"program"> = programRef(programId);
  const program = (await fixture.deps.reader.get(ref))?.value as Program;
  const notices = { expiryDays: 0, reservedGrants: notifies };
  fixture.store.force(ref, { ...program, notices });
  await fixture.reserve(id);
  fixture.store.resetStats();
  const done: [string, string | undefined][] = [];
  const logged: string[] = [];
  const tasks: (() => Promise<void>)[] = [];
  const deps = {
    ...fixture.deps,
    background: (task: () => Promise<void>) => void tasks.push(task),
  };
  const { grantNow } = createActivities({
    deps,
    ...noObservers,
    onDone: (reservation, cause) => void done.push([reservation.reservationId, cause]),
  });
  /** Makes one attempt of the reservation's run. */
  const attempt = (): Promise<ReservationStep> => {
    const info = {
      scheduledTimestampMs: Date.now(),
      workflowExecution: { workflowId: "reservation", runId: "run" },
    };
    const logger = new DefaultLogger("ERROR", ({ message }) => void logged.push(message));
    const execute_time = new Date(fixture.clock.time - 60_000).toISOString();
    return new MockActivityEnvironment(info, { logger }).run(grantNow, {
      program_id: programId,
      reservation_id: id,
      user_id: id,
      execute_time,
      lead_ms: 0,
      original_run_id: "run",
    });
  };
  return { ...fixture, deps, tasks, done, logged, attempt };
}

const busy = () => Promise.reject(new DomainError("CONTENDED", "a busy inbox"));

describe("an attempt of a run", () => {
  test("notifies the user once the points are granted", async () => {
    const { attempt, recordOf, done } = await dueReservation();
    notify.mockImplementation(async () => {
      expect(await recordOf(id)).toMatchObject({ state: "DONE" });
    });
    expect(await attempt()).toMatchObject({ step: "DONE", points: 10 });
    expect(notify.mock.calls.map(([, sent]) => sent)).toEqual([notice]);
    expect(done).toEqual([[id, "due"]]);
  });

  test("whose notification fails shows that, and is repeated with the same event", async () => {
    const { attempt, recordOf, entryCount, done } = await dueReservation();
    notify.mockImplementation(busy);
    expect(await attempt()).toEqual({
      step: "RETRY",
      reason: "CONTENDED",
      message: "the points are granted, but their user is not notified: a busy inbox",
    });
    const granted = await recordOf(id);
    expect(granted).toMatchObject({ state: "DONE" });

    notify.mockReset();
    const step = await attempt();
    expect(step).toMatchObject({ step: "DONE", points: 10, available_points: 10 });
    expect(notify.mock.calls.map(([, sent]) => sent)).toEqual([notice]);
    // The time of the grant, and so its lateness, is that of the first attempt.
    expect(await recordOf(id)).toEqual(granted);
    expect(await entryCount(id)).toBe(1);
    // So it is counted once.
    expect(done).toEqual([
      [id, "due"],
      [id, undefined],
    ]);
  });

  test("ends and logs when the notification fails in a way that no attempt mends", async () => {
    const { attempt, logged } = await dueReservation();
    notify.mockImplementation(() => Promise.reject(new TypeError("a broken inbox")));
    expect(await attempt()).toMatchObject({ step: "DONE", points: 10 });
    expect(logged).toEqual(["could not notify of a reserved grant"]);
  });

  test("costs nothing more in a program without such notices", async () => {
    const { attempt, store, tasks } = await dueReservation({ notifies: false });
    await attempt();
    expect(notify).not.toHaveBeenCalled();
    expect(tasks).toEqual([]);
    expect(store.stats).toMatchObject({ reads: 1, commits: 1 });
  });

  test("notifies of nothing while the reservation waits or has failed", async () => {
    const { attempt, force } = await dueReservation();
    await force(id, (reservation) => ({ ...reservation, state: "CANCELLED" }));
    expect(await attempt()).toMatchObject({ step: "CANCELLED" });
    const failure = { reason: "ACCOUNT_FROZEN", message: "frozen" } as const;
    await force(id, (reservation) => ({ ...reservation, state: "FAILED", failure }));
    expect(await attempt()).toMatchObject({ step: "FAILED" });
    expect(notify).not.toHaveBeenCalled();
  });
});

describe("a sweep over what is overdue", () => {
  const observers = {
    onDone: () => {},
    onFailed: () => expect.unreachable("the grant has not failed"),
  };

  test("notifies in the background, and a failure there fails no grant", async () => {
    const { deps, tasks, recordOf } = await dueReservation();
    notify.mockImplementation(busy);
    const counts = await sweepAll(deps, observers);
    expect(counts).toMatchObject({ overdue: 1, granted: 1, failed: 0 });
    expect(await recordOf(id)).toMatchObject({ state: "DONE" });
    expect(notify).not.toHaveBeenCalled();
    expect(tasks).toHaveLength(1);
    await expect(tasks[0]?.()).rejects.toMatchObject({ reason: "CONTENDED", retryable: true });

    // The next pass does not come back to the record; the run does, if there is one.
    expect(await sweepAll(deps, observers)).toEqual(nothingOverdue);
    expect(tasks).toHaveLength(1);
  });

  test("leaves a notification that it has not made to the run", async () => {
    const { deps, attempt } = await dueReservation();
    await sweepAll(deps, observers);
    expect(await attempt()).toMatchObject({ step: "DONE" });
    expect(notify.mock.calls.map(([, sent]) => sent)).toEqual([notice]);
  });
});
