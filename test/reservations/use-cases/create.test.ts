/** Tests that a reservation has its run wherever the process that creates it ends. */
import { expect, test } from "vitest";
import { markStart, removeMark } from "../../../src/due/use-cases/marks.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { ItemStore } from "../../../src/platform/engine/item-store.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { latestExecuteTime } from "../../../src/reservations/rules/reservation.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import { beforeItemOf } from "../../support/fixtures/account-fixture.ts";
import { markedIds } from "../../support/fixtures/pending-starts.ts";
import { noWorkflows } from "../../support/servers/no-workflows.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const hour = 3_600_000;
const fiveMinutes = 300_000;
const noFailure = (_: unknown, error: unknown) => expect.unreachable(String(error));

function setUp() {
  const { store, clock, deps: base, process } = memoryDeps();
  store.force(programRef(programId), {
    programId,
    timeZone: "Asia/Tokyo",
    lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
    createTime: 0,
  });
  /** How often the run of each reservation was started. */
  const starts = new Map<string, number>();
  const workflows = {
    ...noWorkflows,
    async startReservation({ reservationId }: { readonly reservationId: string }) {
      starts.set(reservationId, (starts.get(reservationId) ?? 0) + 1);
    },
  };
  const executeTime = clock.time + hour;
  return {
    store,
    clock,
    starts,
    workflows,
    deps: { ...base, workflows },
    process: (): Deps => ({ ...process(), workflows }),
    create: (deps: Deps, points = 10) =>
      createReservation(deps, {
        ...{ programId, reservationId: "r", userId: "u", reason: "", executeTime, points },
        caller: asService("tests"),
      }),
    exists: () => store.reader.get(reservationRef(programId, "r")).then((found) => !!found),
  };
}

/** A process that ends at its n-th write or start of a run: without this step, or just after it. */
function dyingProcess(
  { deps, store, workflows }: ReturnType<typeof setUp>,
  at: number,
  done: boolean,
) {
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  let steps = 0;
  async function step<T>(work: () => Promise<T>): Promise<T> {
    steps += 1;
    if (steps < at) return work();
    if (steps === at && done) await work();
    die();
    return new Promise<never>(() => {});
  }
  const itemStore: ItemStore = {
    ...store.itemStore,
    commit: (writes, token) => step(() => store.itemStore.commit(writes, token)),
  };
  const dying: Deps = {
    ...deps,
    engine: new CommitEngine({ store: itemStore, clock: deps.clock }),
    workflows: {
      ...workflows,
      startReservation: (reservation) => step(() => workflows.startReservation(reservation)),
    },
  };
  return { dying, died };
}

/** The steps: the mark, the record, the start of the run, the end of the mark. */
const crashes = [1, 2, 3, 4].flatMap((at) => [false, true].map((done) => ({ at, done })));

test.each(crashes)("a process that ends at step $at, done: $done", async ({ at, done }) => {
  const all = setUp();
  const { deps, clock, starts, create, exists } = all;
  const { dying, died } = dyingProcess(all, at, done);
  create(dying).catch(() => undefined);
  await died;
  const isWritten = at > 2 || (at === 2 && done);
  const isMarked = (at > 1 || done) && !(at === 4 && done);
  expect(await exists()).toBe(isWritten);
  expect(await markedIds(deps, programId)).toEqual(isMarked ? ["r"] : []);

  clock.time += 10_001;
  await syncRuns(deps, 0, noFailure);
  expect(starts.has("r")).toBe(isWritten);
  expect(await markedIds(deps, programId)).toEqual(isMarked && !isWritten ? ["r"] : []);

  expect(await create(deps)).toMatchObject({ replayed: isWritten });
  await expect.poll(() => markedIds(deps, programId)).toEqual([]);
  expect(starts.has("r")).toBe(true);
});

test("a mark without a reservation is deleted after five minutes", async () => {
  const all = setUp();
  const { deps, clock, starts, create, exists } = all;
  const { dying, died } = dyingProcess(all, 1, true);
  create(dying).catch(() => undefined);
  await died;
  clock.time += fiveMinutes;
  await syncRuns(deps, 0, noFailure);
  expect(await markedIds(deps, programId)).toEqual(["r"]);
  clock.time += 1;
  await syncRuns(deps, 0, noFailure);
  expect(await markedIds(deps, programId)).toEqual([]);
  expect({ starts: starts.size, exists: await exists() }).toEqual({ starts: 0, exists: false });
});

test("a call under way keeps the mark that an earlier one has left long ago", async () => {
  const all = setUp();
  const { deps, store, clock, starts, create } = all;
  const early = dyingProcess(all, 1, true);
  create(early.dying).catch(() => undefined);
  await early.died;
  clock.time += fiveMinutes + 1;
  const { reader } = deps;
  // Between the list of marks and the deletion, another process marks, creates and ends.
  const racing = {
    ...deps,
    reader: {
      ...reader,
      async many(refs: Parameters<typeof reader.many>[0]) {
        const found = await reader.many(refs);
        if (refs.length === 0) return found;
        // Its mark is written at the second try: the first one takes it as absent.
        const late = dyingProcess(all, 4, false);
        create(late.dying).catch(() => undefined);
        await late.died;
        return found;
      },
    },
  } as Deps;
  await syncRuns(racing, 0, noFailure);
  expect(await markedIds(deps, programId)).toEqual(["r"]);
  expect(starts.size).toBe(0);
  clock.time += 10_001;
  await syncRuns(deps, 0, noFailure);
  expect(starts.get("r")).toBe(1);
  expect(store.stored().filter(({ ref }) => ref.kind === "reservation")).toHaveLength(1);
});

test("two calls of one id in one batch have a mark each", async () => {
  const { deps } = setUp();
  const name = { programId, reservationId: "r" };
  const [first, second] = await Promise.all([markStart(deps, name), markStart(deps, name)]);
  expect(second.version).toBeGreaterThan(first.version);
  await removeMark(deps, first);
  expect(await markedIds(deps, programId)).toEqual(["r"]);
  await removeMark(deps, second);
  expect(await markedIds(deps, programId)).toEqual([]);
});

test.each([
  ["a damaged record", new TypeError("no number")],
  ["a hot key", new DomainError("THROTTLED", "too many requests")],
])("marks that cannot be read for %s hold up no other program", async (_, error) => {
  const all = setUp();
  const { deps, store, clock, starts, create } = all;
  store.force(programRef("a"), {
    programId: "a",
    timeZone: "Asia/Tokyo",
    lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
    createTime: 0,
  });
  const { dying, died } = dyingProcess(all, 3, false);
  create(dying).catch(() => undefined);
  await died;
  clock.time += 10_001;
  const failed: unknown[] = [];
  const reader: Deps["reader"] = {
    ...deps.reader,
    async pendingStarts(shard, page) {
      if (shard === 3) throw error;
      return deps.reader.pendingStarts(shard, page);
    },
  };
  const counts = await syncRuns({ ...deps, reader }, 0, (...each) => failed.push(each));
  expect(counts).toMatchObject({ synced: 1, failed: 1 });
  expect(starts.get("r")).toBe(1);
  expect(failed).toEqual([[{ programId: "(all)", reservationId: "(marks of shard 3)" }, error]]);
});

test("a repeated request is answered by a process whose clock is behind", async () => {
  const { deps, clock } = setUp();
  const latest = latestExecuteTime(clock.time);
  const create = (deps: Deps, executeTime: number) =>
    createReservation(deps, {
      ...{ programId, reservationId: "r", userId: "u", reason: "", executeTime, points: 10 },
      caller: asService("tests"),
    });
  await expect(create(deps, latest + 1)).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  expect(await markedIds(deps, programId)).toEqual([]);
  expect(await create(deps, latest)).toMatchObject({ replayed: false });
  clock.time -= 5;
  expect(await create(deps, latest)).toMatchObject({ replayed: true });
});

test("of two processes one creates, the other one has the same answer or ID_REUSED", async () => {
  for (const points of [10, 11]) {
    const { deps, store, clock, starts, process, create } = setUp();
    const other = process();
    for (const round of Array.from({ length: 20 }, (_, i) => i)) {
      store.force(reservationRef(programId, "r"), undefined);
      clock.time += 2_000;
      store.beforeItem = beforeItemOf("item by item");
      const both = await Promise.allSettled([create(deps), create(other, points)]);
      store.beforeItem = undefined;
      const results = both.map((each) =>
        each.status === "fulfilled" ? String(each.value.replayed) : each.reason.reason,
      );
      const second = points === 10 ? "true" : "ID_REUSED";
      expect(results.toSorted(), `round ${round}`).toEqual(["false", second].toSorted());
    }
    clock.time += 10_001;
    await expect
      .poll(() => syncRuns(deps, 0, noFailure).then(() => markedIds(deps, programId)))
      .toEqual([]);
    expect(starts.get("r")).toBeGreaterThan(0);
  }
});
