/** Tests sweeps whose activities an operator completes by hand, with any answer. */
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { purgeTargetId } from "../../src/feed/contract/purges.ts";
import { deleteTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import { sealed } from "../../src/platform/contract/answers.ts";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { setTime } from "../../src/platform/work/test-clock.ts";
import { exportWorkflowId } from "../../src/points/contract/exports.ts";
import { liabilityReportWorkflowId } from "../../src/points/contract/liability-reports.ts";
import { exportLedger, getLedgerExport } from "../../src/points/use-cases/export-ledger.ts";
import {
  createLiabilityReport,
  getLiabilityReport,
} from "../../src/points/use-cases/liability-reports.ts";
import { updateProgram } from "../../src/points/use-cases/programs/commands.ts";
import { createExportFolder, type ExportFolderFixture } from "../support/fixtures/export-folder.ts";
import { at, grantTo } from "../support/fixtures/month-ends.ts";
import { resetRun, showsDetails } from "../support/fixtures/operators.ts";
import { reactions, register } from "../support/fixtures/purges.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  type AnswerByHand,
  type ByHandWorker,
  startByHandWorker,
} from "../support/servers/by-hand-worker.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

const programId = "shop";
const caller = asService("tests");
const accountCount = 30;

let folder: ExportFolderFixture;
let stack: WorkerStack;
let worker: ByHandWorker;
beforeAll(async () => {
  folder = await createExportFolder([programId]);
  const options = { worker: false, testClock: true, lifetime: 3, programId, env: folder.env };
  stack = await startWorkerStack(options);
  worker = await startByHandWorker(stack);
  const deps = { ...stack.deps, background: () => {} };
  const notices = { expiryDays: 7, reservedGrants: false };
  await updateProgram(deps, { programId, notices, deadline: undefined });
  await setTime(deps, at(1, 10));
  for (let i = 0; i < accountCount; i++) await grantTo(stack, programId, `user-${i}`, "g", 10);
  // A week before these points expire.
  await setTime(deps, at(3, 25));
});
afterAll(async () => {
  await worker.stop();
  await stack.stop();
  await folder.delete();
});

/** All that an answer could say: that nothing is left to be done, in millions of accounts. */
const many = 4_000_000;
const nothing = { entries: 0, parts: 0, bytes: 0, unreadable: 0, unreadables: [] };
const made = {
  ...{ accounts: many, members: many, entries: many, wrong: 0, reports: [], failed: 0 },
  ...{ months: { "24300": "1000000000000" }, totals: {}, failures: [], complete: nothing },
  ...{ outstanding_points: "1000000000000", buckets: [], unreadable: 0, unreadables: [] },
  ...{ month: "1999-01", granted_up_to: "1998-10", expired: many, unchanged: 0 },
  ...{ notified: many, unaffected: 0, started: many, synced: many, restarted: 0, terminated: 0 },
};

/** The input of each sweep but those of reports, which the API starts, and its true result. */
const startedByHand: readonly (readonly [string, object | undefined, object])[] = [
  [workflowTypes.verifyProgram, { program_id: programId }, { accounts: accountCount, wrong: 0 }],
  [workflowTypes.expiryNotices, { program_id: programId }, { notified: accountCount, failed: 0 }],
  [workflowTypes.monthEnd, { program_id: programId }, { expired: 0, months: { month: "2027-02" } }],
  [workflowTypes.startRuns, undefined, { started: 0, failed: 0 }],
];

const activitiesOf: Readonly<Record<string, readonly string[]>> = {
  verifyProgram: ["verifySegment"],
  expiryNotices: ["notifyExpiring", "readAnnouncedMonth"],
  monthEnd: ["expireShard", "readMonthEnd", "recordMonthEnd"],
  startRuns: ["startAllRuns"],
};

const start = (type: string, workflowId: string, input?: object): Promise<WorkflowHandle> =>
  stack.client.workflow.start(type, {
    ...{ workflowId, taskQueue: stack.config.taskQueue },
    args: input ? [input] : [],
  });

const foreign: readonly [string, AnswerByHand][] = [
  ["nothing", () => null],
  ["a made-up result", () => made],
  ["an edited result", (key) => ({ ...sealed(key, null), answer: made })],
];

/** A person who computes the seal, for an answer of another shape. */
const forgedShape: AnswerByHand = (key) => sealed(key, null);

test.each(
  startedByHand.flatMap(([type, ...sweep]) =>
    foreign.map((each) => [type, ...each, ...sweep] as const),
  ),
)(
  "the sweep %s, answered by hand with %s, has its true result",
  async (type, what, answer, input, result) => {
    const workflowId = `${type}-${what}`;
    worker.answer(workflowId, answer);
    const run = await start(type, workflowId, input);
    expect(await run.result()).toMatchObject(result);
    expect(worker.answered(workflowId)).toEqual(activitiesOf[type]);
  },
);

test.each(startedByHand)(
  "an answer of another shape ends the sweep %s, which is started again",
  async (type, input, result) => {
    const workflowId = `${type}-forged`;
    worker.answer(workflowId, forgedShape);
    const failed = await start(type, workflowId, input);
    await expect(failed.result()).rejects.toMatchObject({ cause: { type: "TypeError" } });
    worker.answer(workflowId, () => null);
    expect(await (await start(type, workflowId, input)).result()).toMatchObject(result);
  },
);

async function reportOf(reportId: string) {
  await createLiabilityReport(stack.deps, { programId, reportId, caller });
  return stack.client.workflow.getHandle(liabilityReportWorkflowId(programId, reportId));
}

const storedReport = async (reportId: string) =>
  (await getLiabilityReport(stack.deps, { programId, reportId })).result;

const trueReport = { accounts: accountCount, members: accountCount, outstanding: "300" };

test.each(foreign)(
  "a liability report answered with %s has the true sums",
  async (what, answer) => {
    worker.answer(liabilityReportWorkflowId(programId, what), answer);
    const run = await reportOf(what);
    expect(await run.result()).toMatchObject({ outstanding_points: "300", accounts: accountCount });
    expect(await storedReport(what)).toMatchObject(trueReport);
    expect(worker.answered(run.workflowId)).toEqual(["keepLiability", "reportSegment"]);
  },
);

test("a report that fails by an answer of another shape is made again by its call", async () => {
  worker.answer(liabilityReportWorkflowId(programId, "failed"), forgedShape);
  const failed = await reportOf("failed");
  await expect(failed.result()).rejects.toMatchObject({ cause: { type: "TypeError" } });
  worker.answer(failed.workflowId, () => null);
  await (await reportOf("failed")).result();
  expect(await storedReport("failed")).toMatchObject(trueReport);
});

test("a report that is doubted is made again by a reset of its run", async () => {
  worker.answer(liabilityReportWorkflowId(programId, "doubted"), (key) =>
    key.endsWith("reportSegment") ? sealed(key, made) : null,
  );
  const run = await reportOf("doubted");
  await run.result();
  expect((await storedReport("doubted"))?.accounts).toBeGreaterThan(many);
  await (await resetRun(stack, run, "first")).result();
  expect(await storedReport("doubted")).toMatchObject(trueReport);
});

const request = (exportId: string) => ({
  ...{ programId, exportId, caller, destination: "audit" },
  window: { start: undefined, end: at(3, 1) },
});

async function ended(exportId: string) {
  return eventually(async () => {
    const found = await getLedgerExport(stack.deps, { programId, exportId });
    expect(found.state).not.toBe("RUNNING");
    return found;
  });
}

async function exported(exportId: string) {
  await exportLedger(stack.deps, request(exportId));
  return ended(exportId);
}

const trueExport = { state: "DONE", entries: accountCount, unreadable: 0 };

test.each(foreign)("an export answered with %s has all entries", async (what, answer) => {
  const exportId = what.replaceAll(" ", "-");
  worker.answer(exportWorkflowId(programId, exportId), answer);
  expect(await exported(exportId)).toMatchObject(trueExport);
  expect((await folder.read(`${programId}/${exportId}`)).lines).toHaveLength(accountCount);
  expect(worker.answered(exportWorkflowId(programId, exportId))).toEqual([
    ...["exportSegment", "finishExport", "keepPart", "openExport"],
  ]);
});

test("an export that fails by an answer of another shape is made again by its call", async () => {
  worker.answer(exportWorkflowId(programId, "failed"), forgedShape);
  expect(await exported("failed")).toMatchObject({ state: "FAILED" });
  worker.answer(exportWorkflowId(programId, "failed"), () => null);
  expect(await exported("failed")).toMatchObject(trueExport);
});

test("an export that is doubted is made again by a reset of its run", async () => {
  const workflowId = exportWorkflowId(programId, "doubted");
  worker.answer(workflowId, (key) => sealed(key, made));
  expect(await exported("doubted")).toMatchObject({ state: "DONE", entries: 0 });
  await resetRun(stack, stack.client.workflow.getHandle(workflowId), "first");
  expect(await ended("doubted")).toMatchObject(trueExport);
  expect((await folder.read(`${programId}/doubted`)).lines).toHaveLength(accountCount);
});

const purges = [...foreign, ["an answer of another shape", forgedShape]] as const;

test.each(purges)("a purge answered with %s leaves no reaction", async (what, answer) => {
  const { deps, client } = stack;
  const target = await register(stack, "owner", what.replaceAll(" ", "-"));
  await reactions(stack, target, "like", 3);
  const workflowId = purgeTargetId(target);
  worker.answer(workflowId, answer);
  await deleteTarget(deps, { target });
  const run = await eventually(async () => {
    await client.workflow.getHandle(workflowId).describe();
    return client.workflow.getHandle(workflowId);
  });
  if (answer === forgedShape) {
    await expect(run.result()).rejects.toMatchObject({ cause: { type: "TypeError" } });
    worker.answer(workflowId, () => null);
    await deps.workflows.startPurge(target, "owner");
  }
  await client.workflow.getHandle(workflowId).result();
  const left = await deps.reader.reactions(
    { target, kind: "like" },
    { size: 9, cursor: undefined },
  );
  expect(left.items).toEqual([]);
  const activities = ["endPurge", "purgeEvents", "purgeReactions", "readKindsToPurge"];
  expect(worker.answered(workflowId)).toEqual(activities);
});

test.each(foreign)("a pass of the reconciler is done again, answered with %s", async (what, by) => {
  const workflowId = `reconciler-${what}`;
  worker.answer(workflowId, by);
  const run = await start(workflowTypes.reconciler, workflowId, {});
  await showsDetails(run, "Runs: 0 changes sent again");
  expect(worker.answered(workflowId)).toEqual(["syncRuns"]);
  await run.terminate();
});
