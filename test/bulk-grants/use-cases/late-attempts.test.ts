/** Tests attempts at a bulk grant's work that stall, or die, while other attempts do the work. */
import { expect, test } from "vitest";
import { reportOutcome } from "../../../src/bulk-grants/use-cases/advance.ts";
import { readBulkGrant } from "../../../src/bulk-grants/use-cases/bulk-grant-record.ts";
import { executeRow } from "../../../src/bulk-grants/use-cases/execute-row.ts";
import { listRows } from "../../../src/bulk-grants/use-cases/queries.ts";
import { finishRun, runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import type { Lease } from "../../../src/bulk-grants/use-cases/run-lease.ts";
import { validateBlocks } from "../../../src/bulk-grants/use-cases/validate-blocks.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { openStore, runAll, start, submit, validate } from "../../support/fixtures/bulk-steps.ts";
import { answerTo, programId, show } from "../../support/models/bulk-use-cases.ts";

const name = { programId, bulkGrantId: "b" };
const firstBlock = { ...name, revision: 1, run: 1, from: 0, to: 1 };

const open = async (): Promise<Deps> => (await openStore()).deps;

const unexpected = () => {
  throw new Error("no row fails here");
};

/** An attempt at the first run that waits before its first row until it is released. */
function stalledAttempt(deps: Deps) {
  const { promise: stall, resolve: release } = Promise.withResolvers<void>();
  const stalled = { ...deps, awaitRowSlot: () => stall };
  return { late: runBlocks(stalled, firstBlock, () => true, unexpected), release };
}

test("an attempt at a validation that ends after the run changes nothing any more", async () => {
  const deps = await open();
  await submit(deps, "b", { u1: 10 });
  const { promise: stall, resolve: release } = Promise.withResolvers<void>();
  const reader: Deps["reader"] = {
    ...deps.reader,
    async rowsOfBlock(uploadId, block) {
      await stall;
      return deps.reader.rowsOfBlock(uploadId, block);
    },
  };
  const late = validateBlocks({ ...deps, reader }, firstBlock, () => true);
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  await runAll(deps, "b", 1, 1);
  release();
  await late;
  const { head, rows } = await show(deps, "b", 10);
  expect(head.state).toBe("DONE");
  expect(rows).toEqual([[2, "u1", "GRANTED"]]);
});

test("an end that comes before a dead worker's block is run again loses no row", async () => {
  const deps = await open();
  await submit(deps, "b", { u1: 10, u2: 20 });
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  let slots = 0;
  const awaitRowSlot = async () => {
    slots += 1;
    if (slots > 1) throw new DomainError("PROGRAM_NOT_FOUND", "the worker dies here");
  };
  const dying = runBlocks({ ...deps, awaitRowSlot }, firstBlock, () => true, unexpected);
  await expect(dying).rejects.toThrow("dies here");
  expect((await finishRun(deps, name, 1, async () => {})).state).toBe("RUNNING");
  expect(await runAll(deps, "b", 1, 1)).toMatchObject({
    head: { state: "DONE", result: { grantedCount: 2, grantedPoints: 30, notRunCount: 0 } },
  });
});

test("a row that a stalled worker grants late fails when the next revision differs", async () => {
  const deps = await open();
  await submit(deps, "b", { u1: 10 });
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  const { late, release } = stalledAttempt(deps);
  await answerTo(deps, { op: "cancel", id: "b", by: "ann" });
  expect(await answerTo(deps, { op: "finish", id: "b", run: 1 })).toMatchObject({
    head: { state: "CANCELLED", result: { grantedCount: 0, notRunCount: 1 } },
  });
  await submit(deps, "b", { u1: 20 });
  await validate(deps, "b", 2);
  release();
  await late;
  await start(deps, "b", 2);
  expect(await runAll(deps, "b", 2, 2)).toMatchObject({
    head: { state: "DONE_WITH_FAILURES", result: { problemCounts: { ID_REUSED: 1 } } },
  });
  const filter = { state: "FAILED" } as const;
  const { items } = await listRows(deps, name, filter, { size: 10, cursor: undefined });
  expect(items[0]?.problems).toEqual([{ code: "ID_REUSED", detail: "10" }]);
});

test("the outcome of a late attempt does not overwrite that of the next run", async () => {
  const deps = await open();
  await submit(deps, "b", { u1: 10, u2: 20 });
  await validate(deps, "b", 1);
  await answerTo(deps, { op: "freeze", userId: "u2" });
  await start(deps, "b", 1);
  const { late, release } = stalledAttempt(deps);
  await runAll(deps, "b", 1, 1);
  await answerTo(deps, { op: "unfreeze", userId: "u2" });
  await answerTo(deps, { op: "retry", id: "b", by: "ann" });
  await answerTo(deps, { op: "run", id: "b", revision: 1, run: 2, from: 0, to: 1, limit: 1 });
  release();
  await late;
  expect(await answerTo(deps, { op: "finish", id: "b", run: 2 })).toMatchObject({
    head: { state: "DONE", result: { grantedCount: 2, grantedPoints: 30, failedCount: 0 } },
  });
});

/** An attempt to end the first run that has read the event keys, and stops until its release. */
async function stalledFinish(deps: Deps) {
  const { promise: stall, resolve: release } = Promise.withResolvers<void>();
  const { promise: hasRead, resolve: reading } = Promise.withResolvers<void>();
  const many: Deps["reader"]["many"] = async (refs) => {
    const found = await deps.reader.many(refs);
    if (!refs.some(({ kind }) => kind === "event")) return found;
    reading();
    await stall;
    return found;
  };
  const stalled = { ...deps, reader: { ...deps.reader, many } };
  const late = finishRun(stalled, name, 1, async () => {});
  await hasRead;
  return { late, release };
}

test("an attempt to end a cancelled run that stops for long changes no later count", async () => {
  const { deps, clock } = await openStore();
  await submit(deps, "b", { u1: 10, u2: 20, u3: 30 });
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  const bulkGrant = await readBulkGrant(deps, name);
  const lease: Lease = { isHeld: true, decided: (send) => send() };
  const grant = (userId: string, points: number) =>
    executeRow(deps, bulkGrant, { line: 2, userId, points, reason: "" }, lease, unexpected);
  await answerTo(deps, { op: "cancel", id: "b", by: "ann" });
  await grant("u1", 10);
  const attempts = [await stalledFinish(deps), await stalledFinish(deps)] as const;
  await answerTo(deps, { op: "finish", id: "b", run: 1 });
  await grant("u2", 20);
  clock.time += lateEntriesMs;
  const before = await readBulkGrant(deps, name);
  attempts[0].release();
  expect(await attempts[0].late).toEqual(before);
  const { countsFinalTime: _, ...final } = await finishRun(deps, name, 1, async () => {});
  expect(final.result).toMatchObject({ grantedCount: 2, grantedPoints: 30, notRunCount: 1 });
  attempts[1].release();
  expect(await attempts[1].late).toEqual(final);
  expect((await show(deps, "b", 10)).rows).toEqual([
    [2, "u1", "GRANTED"],
    [3, "u2", "GRANTED"],
    [4, "u3", "NOT_RUN", "NOT_RUN"],
  ]);
});

test("a run that is retried before its report is reported when it has ended again", async () => {
  const { deps, reports } = await openStore();
  await submit(deps, "b", { u1: 10, u2: 20 });
  await validate(deps, "b", 1);
  await answerTo(deps, { op: "freeze", userId: "u2" });
  await start(deps, "b", 1);
  await runAll(deps, "b", 1, 1);
  await answerTo(deps, { op: "unfreeze", userId: "u2" });
  await answerTo(deps, { op: "retry", id: "b", by: "ann" });
  await reportOutcome(deps, name);
  expect(reports).toEqual([]);
  await runAll(deps, "b", 1, 2);
  await reportOutcome(deps, name);
  expect(reports).toMatchObject([{ kind: "OUTCOME", bulkGrant: { state: "DONE", run: 2 } }]);
});

test("a reversal is no earlier bulk grant with the same content", async () => {
  const deps = await open();
  await submit(deps, "a", { u1: 10, u2: 20 });
  await validate(deps, "a", 1);
  await answerTo(deps, { op: "freeze", userId: "u2" });
  await start(deps, "a", 1);
  await runAll(deps, "a", 1, 1);
  const reversal = { op: "reverse", id: "r", by: "ann", reverses: "a" } as const;
  const reversed = await answerTo(deps, { ...reversal, executeTime: undefined });
  expect(reversed).toMatchObject({ head: { rowCount: 1, totalPoints: 10 } });
  await submit(deps, "c", { u1: 10 });
  expect((await show(deps, "c", 10)).head.sameContentBulkGrantId).toBeUndefined();
});
