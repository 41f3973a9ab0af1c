/** Tests that no run uses what an operator answers, who completes its activities by hand. */
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BulkGrantView } from "../../src/bulk-grants/contract/bulk-grants.ts";
import { bulkGrantWorkflowId } from "../../src/bulk-grants/contract/bulk-grants.ts";
import { sealed } from "../../src/platform/contract/answers.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import { startRun } from "../../src/reservations/use-cases/workflow-runs.ts";
import { approve, balances, comesTo, readBulk, usersOf } from "../support/fixtures/bulk-grants.ts";
import { holdAndBegin, holdReaches, holdRunOf, holdWithoutRun } from "../support/fixtures/holds.ts";
import { recordOf, showsDetails } from "../support/fixtures/operators.ts";
import {
  endsAsCanceled,
  freeze,
  reserveAndStart,
  runEndsAsCanceled,
} from "../support/fixtures/reservations.ts";
import { createSourceFolder, type SourceFolder } from "../support/fixtures/source-folder.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  type AnswerByHand,
  type ByHandWorker,
  startByHandWorker,
} from "../support/servers/by-hand-worker.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { isLong } from "../support/soak.ts";

let folder: SourceFolder;
let stack: WorkerStack;
let worker: ByHandWorker;
beforeAll(async () => {
  folder = await createSourceFolder();
  stack = await startWorkerStack({ worker: false, programId: folder.programId, env: folder.env });
  worker = await startByHandWorker(stack);
});
afterAll(async () => {
  await worker.stop();
  await stack.stop();
  await folder.delete();
});

/** All that an answer could say: that everything is granted, reported, moved and over. */
const made = {
  ...{ program_id: "sheets", bulk_grant_id: "another", source: "nightly/another.csv" },
  ...{ step: "END", state: "DONE", revision: 7, digest: "d", run: 9, is_own: true },
  ...{ block_count: 0, row_count: 9, total_points: 90 },
  ...{ submitter: asService("nobody"), facts: [], rows: [], approvers: [], details: "", files: [] },
  ...{ address: "nightly/done/another.csv", execute_time: "2099-01-01T00:00:00Z" },
  counts: { granted_count: 9, granted_points: 90, failed_count: 0, problem_counts: {} },
};

type NamedAnswer = readonly [string, AnswerByHand];

/** The soak gives all answers, `npm test` those of these names, because each costs seconds. */
const isPlayed = ([name]: NamedAnswer) =>
  isLong || ["nothing", "a made-up result", "an edited result"].includes(name);

/** Answers that no activity of the run gives. */
const allStrange: readonly NamedAnswer[] = [
  ["nothing", () => null],
  ["text", () => "DONE"],
  ["a list", () => [made]],
  ["no fields", () => ({})],
  ["a made-up result", () => made],
  ["the result of another activity", (key) => sealed(`${key}-of-another`, made)],
  ["an edited result", (key) => ({ ...sealed(key, {}), answer: made })],
];
const strange = allStrange.filter(isPlayed);

const rowCount = 30;
const frozen = (id: string) => [`${id}-7`, `${id}-14`];

/** Starts a bulk grant from a file, two of whose users have an account. */
async function start(id: string, answer: AnswerByHand, isBeside = false): Promise<WorkflowHandle> {
  const { client, config, programId, deps } = stack;
  await folder.put(
    `${id}.csv`,
    usersOf(id, rowCount).map((user) => `${user},10`),
  );
  const change = { programId, eventId: "e", points: 1, reason: "", caller: asService("tests") };
  for (const userId of frozen(id)) {
    await grantPoints(deps, { ...change, userId, deadline: undefined });
  }
  const workflowId = bulkGrantWorkflowId(programId, id);
  worker.answer(workflowId, answer, isBeside ? "beside the attempt" : "once");
  return client.workflow.start("bulkGrantFromSource", {
    workflowId,
    taskQueue: config.taskQueue,
    args: [{ program_id: programId, bulk_grant_id: id, source: `nightly/${id}.csv` }],
  });
}

/** Expects that all rows but those of two frozen users are granted once, and counted so. */
async function expectTrueEnd(id: string, run: WorkflowHandle): Promise<void> {
  const waiting = await comesTo(stack, id, "AWAITING_APPROVAL");
  expect(waiting.checked).toMatchObject({ invalidCount: 0, alreadyGrantedCount: 0 });
  for (const userId of frozen(id)) await freeze(stack, userId, true);
  const { digest } = waiting.revision;
  await eventually(async () => {
    expect(worker.answered(run.workflowId)).toContain("announceBulkGrant");
  });
  await approve(stack.deps, waiting);
  const counts = {
    ...{ granted_count: 28, granted_points: 280, already_granted_count: 0 },
    ...{ failed_count: 2, invalid_count: 0, not_run_count: 0 },
    problem_counts: { ACCOUNT_FROZEN: 2 },
  };
  const end = { state: "DONE_WITH_FAILURES", revision: 1, digest, counts };
  const { programId: program_id } = stack;
  expect(await run.result()).toEqual({ program_id, bulk_grant_id: id, ...end });
  expect(await balances(stack, usersOf(id, rowCount))).toEqual({ 10: 28, 1: 2 });
  const { bulkGrant } = await readBulk(stack, id);
  expect(bulkGrant).toMatchObject({ state: end.state, report: "SENT" });
  expect(bulkGrant.result).toMatchObject({ grantedCount: 28, failedCount: 2, notRunCount: 0 });
  expect(await run.query<BulkGrantView>("progress")).toMatchObject({ counts });
}

/** Expects that each activity of a bulk grant from a source was answered by hand. */
function expectAllAnswered(run: WorkflowHandle): void {
  expect(worker.answered(run.workflowId)).toEqual([
    ...["advanceBulkGrant", "announceBulkGrant", "completeValidation"],
    ...["finishRun", "reportOutcome", "runBlocks", "submitFromSource", "validateBlocks"],
    "writeFailuresToSource",
  ]);
}

const idOf = (what: string) => what.replaceAll(" ", "-");

describe.concurrent("a bulk grant grants each row once, by the store, answered by hand", () => {
  test.each(strange)("with %s", async (what, answer) => {
    const id = idOf(what);
    const run = await start(id, answer);
    await expectTrueEnd(id, run);
    expectAllAnswered(run);
    expect(await folder.sheetsIn("failed")).toContain(`${id}.errors.csv`);
  });

  test("while the attempts go on", async () => {
    const run = await start("beside", () => made, true);
    await expectTrueEnd("beside", run);
    // An attempt may end before the answer comes.
    expect(worker.answered(run.workflowId)).not.toEqual([]);
  });
});

const toCancel = allStrange.slice(3, 5).filter(isPlayed);
describe.concurrent.each(toCancel)("a requested cancellation, answered with %s", (what, answer) => {
  const id = `canceled-${idOf(what)}`;

  test("cancels the bulk grant", async () => {
    const run = await start(id, answer);
    await comesTo(stack, id, "AWAITING_APPROVAL");
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ cause: { name: "CancelledFailure" } });
    expect((await readBulk(stack, id)).bulkGrant.state).toBe("CANCELLED");
    expect(worker.answered(run.workflowId)).toContain("cancelBulkGrant");
  });

  test("cancels the reservation", async () => {
    const run = await reserveAndStart(stack, { id, inMs: 3_600_000 });
    worker.answer(run.workflowId, answer);
    await run.cancel();
    await endsAsCanceled(stack, id);
    expect(worker.answered(run.workflowId)).toContain("cancelReservation");
  });

  test("releases the hold", async () => {
    const run = await holdAndBegin(stack, id, 3_600_000);
    await showsDetails(run, "Held until");
    worker.answer(run.workflowId, answer);
    await run.cancel();
    await runEndsAsCanceled(run);
    await holdReaches(stack, id, "RELEASED");
    expect(worker.answered(run.workflowId)).toEqual(["releaseHold", "timeOutHold"]);
  });
});

test.concurrent.each(strange)("a hold times out, answered with %s", async (what, answer) => {
  const id = `held-${idOf(what)}`;
  const held = await holdWithoutRun(stack, id, 1_000);
  const run = holdRunOf(stack, id);
  worker.answer(run.workflowId, answer);
  await startRun(stack.deps, held);
  expect(await run.result()).toMatchObject({ state: "EXPIRED", released_points: 10 });
  await holdReaches(stack, id, "EXPIRED");
  expect(worker.answered(run.workflowId)).toEqual(["timeOutHold"]);
});

test.each(strange)(
  "a pick-up submits and moves its files, answered with %s",
  async (what, answer) => {
    const id = `picked-${idOf(what)}`;
    const { client, config, programId } = stack;
    for (const file of await folder.sheetsIn(".")) await folder.remove(file);
    await folder.put(`${id}.csv`, [`${id}-1,10`]);
    await folder.put(`${id}-bad.csv`, ["x"], "user,points");
    worker.answer(id, answer);
    const result = await client.workflow.execute("pickUpSheets", {
      workflowId: id,
      taskQueue: config.taskQueue,
      args: [{ source_name: "nightly", program_id: programId }],
    });
    expect(result).toMatchObject({ submitted: [expect.stringContaining(`/${id}.csv`)], left: [] });
    await comesTo(stack, id, "AWAITING_APPROVAL");
    expect(await folder.sheetsIn(".")).toEqual([]);
    expect(await folder.sheetsIn("done")).toContain(`${id}.csv`);
    expect(await folder.sheetsIn("failed")).toContain(`${id}-bad.csv`);
    expect(worker.answered(id)).toEqual([
      ...["advanceBulkGrant", "listNewFiles", "moveFile", "pickUpSheet", "reportPickUp"],
      "writeRefusal",
    ]);
  },
);

test("an Update whose attempts are all answered by hand fails, and changes nothing", async () => {
  const run = await reserveAndStart(stack, { id: "always", inMs: 3_600_000 });
  const { points } = await recordOf(stack, "always");
  worker.answer(run.workflowId, () => made, "always");
  const change = run.executeUpdate("change_points", { args: [{ points: 1 }] as [unknown] });
  const message = "changeReservationPoints has an answer that no worker gave";
  await expect(change).rejects.toMatchObject({ cause: { type: "FOREIGN_ANSWER", message } });
  expect((await recordOf(stack, "always")).points).toBe(points);
});

test("a run without attempts that a worker answers fails, and names the activity", async () => {
  const { client, config, programId } = stack;
  worker.answer("picked-always", () => made, "always");
  const run = client.workflow.execute("pickUpSheets", {
    workflowId: "picked-always",
    taskQueue: config.taskQueue,
    args: [{ source_name: "nightly", program_id: programId }],
  });
  const message = "listNewFiles has an answer that no worker gave";
  await expect(run).rejects.toMatchObject({ cause: { type: "FOREIGN_ANSWER", message } });
});
