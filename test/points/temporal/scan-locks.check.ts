/** Tests that a report and an export wait until another one of their program has ended. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { jobWorkflowId } from "../../../src/points/contract/jobs.ts";
import type { JobRequest } from "../../../src/points/rules/jobs.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { getJob, type JobType, startJob } from "../../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport } from "../../../src/points/use-cases/jobs/liability.ts";
import { takeScanLock } from "../../../src/points/use-cases/jobs/scan-lock.ts";
import { verification } from "../../../src/points/use-cases/jobs/verification.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import {
  createExportFolder,
  type ExportFolderFixture,
} from "../../support/fixtures/export-folder.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const programId = "shop";
const otherProgram = "cafe";
const caller = asService("tests");

let folder: ExportFolderFixture;
let stack: WorkerStack;
let requests: Readonly<Record<string, JobRequest>>;
beforeAll(async () => {
  folder = await createExportFolder([programId, otherProgram]);
  stack = await startWorkerStack({ programId, env: folder.env });
  const program = { programId: otherProgram, timeZone: "UTC", lifetimeMonths: 12 };
  await createProgram({ ...stack.deps, background: () => {} }, program);
  const end = (await stack.deps.clock.now()).calendar - lateEntriesMs - 1_000;
  requests = {
    "verify-program": { repair: false },
    "export-ledger": { destination: "audit", end },
  };
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
});

const workflowIdOf = ({ kind }: JobType, jobId: string) =>
  jobWorkflowId({ programId, kind: kind.name, jobId });

/** Starts a run that makes no progress, because no worker polls its task queue. */
function startStuck(type: JobType, id: string) {
  const workflowId = workflowIdOf(type, id);
  const { workflowType } = type.kind;
  return stack.client.workflow.start(workflowType, { workflowId, taskQueue: "nobody", args: [{}] });
}

const isDone = (type: JobType, programId: string, jobId: string) =>
  eventually(async () =>
    expect((await getJob(stack.deps, type, { programId, jobId })).state).toBe("DONE"),
  );

test.each([
  ["liability-report", liabilityReport as JobType],
  ["verify-program", verification as JobType],
  ["export-ledger", ledgerExport as JobType],
])("a second run of %s waits for the first one, and says so", async (kind, type) => {
  const create = (programId: string, jobId: string) =>
    startJob(stack.deps, type, { programId, jobId, caller, request: requests[kind] ?? {} });
  // A run that has not begun to read, such as a report in its first minutes, has no lock.
  await startStuck(type, "sleeping");
  const first = await startStuck(type, "first");
  const held = { programId, kind, workflowId: first.workflowId };
  expect(await takeScanLock(stack.deps, held)).toBeUndefined();

  await create(programId, "second");
  const second = stack.client.workflow.getHandle(workflowIdOf(type, "second"));
  await eventually(async () => {
    const { raw } = await second.describe();
    const failures = raw.pendingActivities?.map(({ lastFailure }) => lastFailure?.message);
    expect(failures).toContain(
      `waits until ${kind}/shop/first has ended: one of its kind runs in a program at a time`,
    );
  });
  await create(otherProgram, "unrelated");
  await isDone(type, otherProgram, "unrelated");
  const waiting = await getJob(stack.deps, type, { programId, jobId: "second" });
  expect(waiting.state).toBe("RUNNING");

  await first.terminate("a test");
  await isDone(type, programId, "second");
});
