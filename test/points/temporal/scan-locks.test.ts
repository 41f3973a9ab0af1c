/** Tests that a report and an export wait until another one of their program has ended. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { workflowTypes } from "../../../src/platform/contract/workflow-types.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { exportWorkflowId } from "../../../src/points/contract/exports.ts";
import { liabilityReportWorkflowId } from "../../../src/points/contract/liability-reports.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { exportLedger, getLedgerExport } from "../../../src/points/use-cases/export-ledger.ts";
import {
  createLiabilityReport,
  getLiabilityReport,
} from "../../../src/points/use-cases/liability-reports.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { takeScanLock } from "../../../src/points/use-cases/scan-lock.ts";
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
let end: number;
beforeAll(async () => {
  folder = await createExportFolder([programId, otherProgram]);
  stack = await startWorkerStack({ programId, env: folder.env });
  const program = { programId: otherProgram, timeZone: "UTC", lifetimeMonths: 12 };
  await createProgram({ ...stack.deps, background: () => {} }, program);
  end = (await stack.deps.clock.now()).calendar - lateEntriesMs - 1_000;
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
});

interface Scan {
  readonly type: string;
  workflowIdOf(programId: string, id: string): string;
  create(programId: string, id: string): Promise<unknown>;
  isDone(programId: string, id: string): Promise<boolean>;
}

const report: Scan = {
  type: workflowTypes.liabilityReport,
  workflowIdOf: liabilityReportWorkflowId,
  create: (programId, reportId) =>
    createLiabilityReport(stack.deps, { programId, reportId, caller }),
  async isDone(programId, reportId) {
    const { result } = await getLiabilityReport(stack.deps, { programId, reportId });
    return result !== undefined;
  },
};

const ledgerExport: Scan = {
  type: workflowTypes.exportLedger,
  workflowIdOf: exportWorkflowId,
  create: (programId, exportId) =>
    exportLedger(stack.deps, {
      ...{ programId, exportId, caller, destination: "audit", window: { start: undefined, end } },
    }),
  isDone: async (programId, exportId) =>
    (await getLedgerExport(stack.deps, { programId, exportId })).state === "DONE",
};

/** Starts a run that makes no progress, because no worker polls its task queue. */
function startStuck({ type, workflowIdOf }: Scan, id: string) {
  const workflowId = workflowIdOf(programId, id);
  return stack.client.workflow.start(type, { workflowId, taskQueue: "nobody", args: [{}] });
}

const isDone = (scan: Scan, programId: string, id: string) =>
  eventually(async () => expect(await scan.isDone(programId, id)).toBe(true));

test.each([
  ["liability-report", report],
  ["export-ledger", ledgerExport],
] as const)("a second run of %s waits for the first one, and says so", async (kind, scan) => {
  // A run that has not begun to read, such as a report in its first minutes, has no lock.
  await startStuck(scan, "sleeping");
  const first = await startStuck(scan, "first");
  const held = { programId, kind, workflowId: first.workflowId };
  expect(await takeScanLock(stack.deps, held)).toBeUndefined();

  await scan.create(programId, "second");
  const second = stack.client.workflow.getHandle(scan.workflowIdOf(programId, "second"));
  await eventually(async () => {
    const { raw } = await second.describe();
    const failures = raw.pendingActivities?.map(({ lastFailure }) => lastFailure?.message);
    expect(failures).toContain(
      `waits until ${kind}/shop/first has ended: one of its kind runs in a program at a time`,
    );
  });
  await scan.create(otherProgram, "unrelated");
  await isDone(scan, otherProgram, "unrelated");
  expect(await scan.isDone(programId, "second")).toBe(false);

  await first.terminate("a test");
  await isDone(scan, programId, "second");
});
