/** Tests sweeps whose activities an operator completes by hand, with any answer. */

import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { purgeTargetId } from "../../src/feed/contract/purges.ts";
import { deleteTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import { sealed } from "../../src/platform/contract/answers.ts";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { setTime } from "../../src/platform/work/test-clock.ts";
import { jobWorkflowId } from "../../src/points/contract/jobs.ts";
import type { JobRequest } from "../../src/points/rules/jobs.ts";
import { ledgerExport } from "../../src/points/use-cases/jobs/export-ledger.ts";
import { getJob, type JobType, startJob } from "../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport } from "../../src/points/use-cases/jobs/liability.ts";
import { verification } from "../../src/points/use-cases/jobs/verification.ts";
import { updateProgram } from "../../src/points/use-cases/programs/commands.ts";
import { enforceRules } from "../support/fixtures/bulk-rules.ts";
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
  const caller = asService("tests");
  await enforceRules(deps, programId, { requiredApprovalCount: 0 });
  await updateProgram(deps, { programId, rules: { notices }, caller, deadline: undefined });
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
  ...{ month: "1999-01", granted_up_to: "1998-10", expired: many, unchanged: 0 },
  ...{ notified: many, unaffected: 0, started: many, synced: many, restarted: 0, terminated: 0 },
};

/** The input of each sweep but jobs, which the API starts, and its true result. */
const startedByHand: readonly (readonly [string, object | undefined, object])[] = [
  [workflowTypes.expiryNotices, { program_id: programId }, { notified: accountCount, failed: 0 }],
  [workflowTypes.monthEnd, { program_id: programId }, { expired: 0, months: { month: "2027-02" } }],
  [workflowTypes.startRuns, undefined, { started: 0, failed: 0 }],
];

const activitiesOf: Readonly<Record<string, readonly string[]>> = {
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

/** The request of each kind of job, and what it truly finds. */
const jobs: readonly (readonly [JobType, JobRequest, object])[] = [
  [verification as JobType, { repair: false }, { accounts: accountCount, wrong: 0 }],
  [liabilityReport as JobType, {}, { accounts: accountCount, members: accountCount }],
  [
    ledgerExport as JobType,
    { destination: "audit", end: at(3, 1) },
    { entries: accountCount, unreadable: 0 },
  ],
];

const workflowIdOf = (kind: string, jobId: string) => jobWorkflowId({ programId, kind, jobId });

/** Starts a job, and waits for its end. */
async function done(type: JobType, request: JobRequest, jobId: string) {
  await startJob(stack.deps, type, { programId, jobId, caller, request });
  return ended(type, jobId);
}

const ended = (type: JobType, jobId: string) =>
  eventually(async () => {
    const found = await getJob(stack.deps, type, { programId, jobId });
    expect(found.state).not.toBe("RUNNING");
    return found;
  });

describe.each(jobs)("a job", (type, request, sum) => {
  const { name } = type.kind;

  test.each(foreign)(`of ${name}, answered with %s, has its true sum`, async (what, answer) => {
    const jobId = what.replaceAll(" ", "-");
    const workflowId = workflowIdOf(name, jobId);
    worker.answer(workflowId, answer);
    expect(await done(type, request, jobId)).toMatchObject({ state: "DONE", sum });
    expect(worker.answered(workflowId)).toEqual(["beginJob", "finishJob", "sweepSegment"]);
  });

  test(`of ${name} that an answer of another shape ends is done again by its call`, async () => {
    worker.answer(workflowIdOf(name, "failed"), forgedShape);
    expect(await done(type, request, "failed")).toMatchObject({ state: "FAILED" });
    worker.answer(workflowIdOf(name, "failed"), () => null);
    expect(await done(type, request, "failed")).toMatchObject({ state: "DONE", sum });
  });

  test(`of ${name} that is doubted is done again by a reset of its run`, async () => {
    const workflowId = workflowIdOf(name, "doubted");
    const forged = { sum: Object.fromEntries(Object.keys(sum).map((field) => [field, many])) };
    worker.answer(workflowId, (key) => (key.endsWith("sweepSegment") ? sealed(key, forged) : null));
    const { sum: doubted } = await done(type, request, "doubted");
    expect(doubted).not.toMatchObject(sum);
    if (type.kind === ledgerExport.kind) {
      await stack.deps.exportDestinations
        .folder("audit", { programId, exportId: "doubted" })
        .remove("manifest.json");
    }
    const run = stack.client.workflow.getHandle(workflowId);
    await (await resetRun(stack, run, "first")).result();
    expect(await ended(type, "doubted")).toMatchObject({ state: "DONE", sum });
  });
});

test("an export whose steps are answered by hand has all lines", async () => {
  for (const [what] of foreign) {
    const { lines } = await folder.read(`${programId}/${what.replaceAll(" ", "-")}`);
    expect(lines).toHaveLength(accountCount);
  }
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
