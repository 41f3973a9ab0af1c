/** Tests that a hold has its run when Temporal is back, wherever the call to it was lost. */
import { describe, expect, test, vi } from "vitest";
import type { HoldName } from "../../../src/due/ports/due.ts";
import { capturePoints, holdPoints } from "../../../src/holds/use-cases/commands.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";
import { markedIds } from "../../support/fixtures/pending-starts.ts";

const hour = 3_600_000;
const common = {
  ...{ programId, userId: "u", reason: "", caller: asService("tests") },
  deadline: undefined,
};

/** Holds of a user with points, a Temporal that can be away, and tasks that run when asked. */
async function setUp() {
  let isUp = true;
  let isAway = false;
  const answer = async () => {
    isAway = !isUp;
    if (isAway) throw new DomainError("WORKFLOWS_UNAVAILABLE", "away");
  };
  const runs = new Set<string>();
  const start = async ({ holdId }: HoldName) => {
    await answer();
    runs.add(holdId);
  };
  const startHold = vi.fn(start);
  const refreshHold = vi.fn(start);
  const workflows = { isAway: () => isAway, startHold, refreshHold };
  const { deps: given, clock, reserve } = createReservationFixture(workflows);
  const tasks: (() => Promise<void>)[] = [];
  const deps = { ...given, background: (task: () => Promise<void>) => void tasks.push(task) };
  await grantPoints(deps, { ...common, eventId: "g", points: 100 });
  return {
    ...{ runs, startHold, refreshHold, tasks, clock, reserve },
    temporal(up: boolean) {
      isUp = up;
    },
    hold: (holdId: string) =>
      holdPoints(deps, {
        ...{ ...common, holdId, points: 10, allowPartial: false, until: clock.time + hour },
        expiredPointsPolicy: "ORIGINAL_EXPIRY",
      }),
    capture: (holdId: string, points?: number) =>
      capturePoints(deps, { ...common, holdId, eventId: "c", points, moreFollow: true }),
    marked: () => markedIds(deps, programId),
    /** What the reconciler does 10 s later. */
    async sync() {
      clock.time += 10_001;
      return syncRuns(deps, 0, () => {});
    },
  };
}

describe("a hold", () => {
  test("that is made while Temporal answers is not marked", async () => {
    const { hold, tasks, runs, marked } = await setUp();
    await hold("a");
    await tasks[0]?.();
    expect([...runs]).toEqual(["a"]);
    expect(await marked()).toEqual([]);
  });

  test("is marked when Temporal does not answer, until its task has started the run", async () => {
    const { hold, tasks, runs, marked, temporal } = await setUp();
    temporal(false);
    await hold("a");
    expect(await marked()).toEqual([]);
    await expect(tasks[0]?.()).rejects.toMatchObject({ reason: "WORKFLOWS_UNAVAILABLE" });
    expect(await marked()).toEqual(["a"]);
    temporal(true);
    await tasks[0]?.();
    expect([...runs]).toEqual(["a"]);
    expect(await marked()).toEqual([]);
  });

  test("that is made during the outage has its run after it, although no task ran", async () => {
    const { hold, reserve, tasks, runs, marked, temporal, sync } = await setUp();
    temporal(false);
    await hold("a");
    await tasks[0]?.().catch(() => {});
    await hold("b");
    await reserve("b", { inMs: hour });
    expect((await marked()).toSorted()).toEqual(["a", "b", "b"]);
    expect(await sync()).toMatchObject({ synced: 1, failed: 2 });
    temporal(true);
    expect(await sync()).toMatchObject({ synced: 2, failed: 0 });
    expect([...runs].toSorted()).toEqual(["a", "b"]);
    expect(await marked()).toEqual([]);
  });

  test("that ends during the outage has its run refreshed then, and gets no other", async () => {
    const { hold, capture, tasks, startHold, refreshHold, temporal, sync } = await setUp();
    await hold("a");
    await tasks[0]?.();
    temporal(false);
    await capture("a");
    await tasks[1]?.().catch(() => {});
    temporal(true);
    refreshHold.mockClear();
    expect(await sync()).toMatchObject({ synced: 1, failed: 0 });
    expect(startHold).toHaveBeenCalledTimes(1);
    expect(refreshHold).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ holdId: "a", state: "CAPTURED" }),
      "Asia/Tokyo",
    );
    expect(await sync()).toMatchObject({ synced: 0 });
  });

  test("that is captured in part before it has a run gets one", async () => {
    const { hold, capture, tasks, runs, marked, temporal } = await setUp();
    temporal(false);
    await hold("a");
    await tasks[0]?.().catch(() => {});
    await capture("a", 1);
    temporal(true);
    await tasks[1]?.();
    expect([...runs]).toEqual(["a"]);
    expect(await marked()).toEqual([]);
  });

  test("that changes while the reconciler tells its run stays marked", async () => {
    const { hold, capture, tasks, clock, startHold, marked, temporal, sync } = await setUp();
    temporal(false);
    await hold("a");
    await tasks[0]?.().catch(() => {});
    temporal(true);
    startHold.mockImplementationOnce(async () => {
      clock.time += 1;
      temporal(false);
      await capture("a");
      await tasks[1]?.().catch(() => {});
      temporal(true);
    });
    expect(await sync()).toMatchObject({ synced: 1 });
    expect(await marked()).toEqual(["a"]);
    expect(await sync()).toMatchObject({ synced: 1 });
    expect(await marked()).toEqual([]);
  });
});
