/** Tests that a new report needs no more than its step, its sum and its sentence. */
import { NativeConnection, Worker } from "@temporalio/worker";
import { expect, onTestFinished, test } from "vitest";
import { jobActivities } from "../../../activities/points/jobs.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { addCounts } from "../../../src/platform/words/sums.ts";
import { availablePointsOf } from "../../../src/points/rules/account.ts";
import { freezeAccount, grantPoints } from "../../../src/points/use-cases/commands.ts";
import {
  getJob,
  type JobType,
  listJobs,
  startJob,
} from "../../../src/points/use-cases/jobs/jobs.ts";
import { sweepAccounts } from "../../../src/points/use-cases/sweep-accounts.ts";
import { bundleWorkflows } from "../../../src/worker/bundle.ts";
import { sealAnswers } from "../../../src/worker/seal-answers.ts";
import { frozenKind } from "../../support/fixtures/frozen-report.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack } from "../../support/servers/worker.ts";

const frozenReport: JobType<ReturnType<typeof sumOf>, { readonly atLeast: number }> = {
  kind: frozenKind,
  step: (deps, { programId, request }, { segment, segments }, start, from, shouldContinue, warn) =>
    sweepAccounts(
      {
        read: (cursor) => deps.reader.accounts(programId, segment, segments, { size: 250, cursor }),
        process: async (account) =>
          sumOf(availablePointsOf(account) >= request.atLeast, account.frozen),
        add: addCounts<ReturnType<typeof sumOf>>,
        onFailed: (_userId, err) => warn("an account could not be counted", { err }),
        ...{ concurrency: 4, outageAfter: 8 },
      },
      start,
      from,
      shouldContinue,
    ),
};

const sumOf = (isCounted: boolean, frozen: boolean) => ({
  accounts: isCounted ? 1 : 0,
  frozen: isCounted && frozen ? 1 : 0,
  failed: 0,
  failures: [] as readonly { readonly userId: string; readonly reason: string }[],
});

test("a new report is started, read and listed like every other one", async () => {
  const stack = await startWorkerStack({ worker: false });
  onTestFinished(() => stack.stop());
  const { deps, programId, config, client } = stack;
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const path = `${import.meta.dirname}/../../support/fixtures/frozen-report-workflow.ts`;
  const worker = await Worker.create({
    ...{ connection, namespace: config.temporalNamespace, taskQueue: config.taskQueue },
    workflowBundle: await bundleWorkflows(path),
    activities: jobActivities(deps, [frozenReport as JobType]),
    interceptors: { activity: [sealAnswers] },
  });
  const running = worker.run();
  const caller = asService("tests");
  const change = (userId: string, eventId: string) => ({
    ...{ programId, userId, eventId, reason: "", caller, deadline: undefined },
  });
  for (let i = 1; i <= 9; i++) await grantPoints(deps, { ...change(`u${i}`, "g"), points: i });
  for (const user of ["u1", "u8"]) await freezeAccount(deps, change(user, "f"));

  const call = { programId, jobId: "2026-11", caller };
  const request = { atLeast: 5 };
  const { workflowId } = await startJob(deps, frozenReport, { ...call, request });
  const found = await eventually(async () => {
    const found = await getJob(deps, frozenReport, call);
    expect(found.state).toBe("DONE");
    return found;
  });
  expect(found.sum).toEqual({ accounts: 5, frozen: 1, failed: 0, failures: [] });
  const handle = client.workflow.getHandle(workflowId);
  await showsDetails(handle, "Of 5 accounts with 5 points or more 1 are frozen; 0 failed.");
  const page = { size: 9, cursor: undefined };
  expect((await listJobs(deps, frozenReport, programId, page)).items).toEqual([found]);
  expect(await startJob(deps, frozenReport, { ...call, request })).toMatchObject({
    ...{ state: "DONE", replayed: true },
  });
  worker.shutdown();
  await running;
  await connection.close();
});
