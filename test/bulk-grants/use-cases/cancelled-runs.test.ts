/** Tests that a cancelled bulk grant stops, whatever attempts at its rows are under way. */
import { expect, test, vi } from "vitest";
import { executeRow } from "../../../src/bulk-grants/use-cases/execute-row.ts";
import { getBulkGrant } from "../../../src/bulk-grants/use-cases/queries.ts";
import { runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import { type Lease, lateRowsMs } from "../../../src/bulk-grants/use-cases/run-lease.ts";
import { openStore, start, submit, validate } from "../../support/fixtures/bulk-steps.ts";
import { programId } from "../../support/models/bulk-use-cases.ts";
import { cancelledRuns, playCancelledRun, slotsOf } from "../../support/models/cancelled-runs.ts";
import { assertSeeds } from "../../support/models/seeded.ts";
import { inVirtualTime } from "../../support/models/virtual-time.ts";

/** A run of one block that is cancelled after a second, in a store that answers at once. */
const quick = { rowCount: 250, cancelMs: 1_000, readMs: 1, commitMs: 1, heldRows: [] };

const timingModule = "../../../workflows/timing.ts";

test("a worker that has lost Temporal stops within two seconds of a cancellation", async () => {
  // The default rate: 100 rows a second for the worker, shared by four ranges.
  const attempt = { startMs: 0, rowMs: 40, stalls: { row: 0, ms: 0 }, recordMs: 0 };
  const run = { ...quick, attempts: [attempt] };
  const { granted } = await inVirtualTime(() => playCancelledRun(run));
  expect(granted).toBeGreaterThan(10);
  expect(granted).toBeLessThanOrEqual(75);
});

test("a row that the network held for longer than the count waits is counted later", async () => {
  const attempt = { startMs: 0, rowMs: 10, stalls: { row: 0, ms: 0 }, recordMs: 0 };
  const run = { ...quick, attempts: [attempt], heldRows: [3, 20] };
  const { granted, late } = await inVirtualTime(() => playCancelledRun(run));
  expect(granted).toBeGreaterThan(10);
  expect(late).toBe(2);
});

test("whatever attempts are under way, what was granted is counted", async () => {
  await assertSeeds(cancelledRuns, [{ seed: 1, numRuns: 20 }]);
});

test("no row is decided without the lease", async () => {
  const { deps, store } = await openStore();
  await submit(deps, "b", { u1: 10 });
  const { bulkGrant } = await getBulkGrant(deps, { programId, bulkGrantId: "b" });
  const before = store.dump();
  const row = { line: 2, userId: "u1", points: 10, reason: "" };
  const over: Lease = { isHeld: false, decided: (send) => send() };
  expect(await executeRow(deps, bulkGrant, row, over, expect.unreachable)).toBeUndefined();
  expect(store.dump()).toEqual(before);
});

test("the lease costs one read a second, and no write", async () => {
  const { deps, store } = await openStore();
  const rows = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`u${i}`, 10]));
  await submit(deps, "b", rows);
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  const get = vi.spyOn(deps.reader, "get");
  store.resetStats();
  store.latencyMs = 1;
  const seconds = await inVirtualTime(async () => {
    const begin = performance.now();
    const awaitRowSlot = slotsOf({ rowMs: 40, stalls: { row: 0, ms: 0 } });
    const range = { programId, bulkGrantId: "b", revision: 1, run: 1, from: 0, to: 1 };
    await runBlocks({ ...deps, awaitRowSlot }, range, () => true, expect.unreachable);
    return (performance.now() - begin) / 1_000;
  });
  const reads = get.mock.calls.filter(([ref]) => ref.kind === "bulkGrant").length;
  expect(reads).toBeGreaterThan(7);
  expect(reads).toBeLessThanOrEqual(1 + seconds);
  expect(store.stats.commits).toBe(251);
});

test("a cancelled run is counted when no attempt can write any more", async () => {
  // Not the module of which tests have shortened the waits.
  const { bulkGrantTiming } = await import(`${timingModule}?as-shipped`);
  expect(bulkGrantTiming.lateRowsMs).toBeGreaterThanOrEqual(lateRowsMs);
});
