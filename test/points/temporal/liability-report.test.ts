/** Tests the workflow of liability reports: its sums, what operators see, and an early end. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints, usePoints } from "../../../src/points/use-cases/commands.ts";
import { getJob, startJob } from "../../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport, readOutstanding } from "../../../src/points/use-cases/jobs/liability.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { changeItem } from "../../support/stores/change-item.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

const caller = asService("tests");

const event = (userId: string, eventId: string) => ({
  ...{ programId: stack.programId, userId, eventId, reason: "", caller, deadline: undefined },
});

const nameOf = (jobId: string) => ({ programId: stack.programId, jobId });

const create = (jobId: string, since?: number) =>
  startJob(stack.deps, liabilityReport, { ...nameOf(jobId), caller, request: { since } });

/** Waits until what is recorded is later than this instant. */
const pass = (instant: number) =>
  eventually(async () => {
    expect((await stack.deps.clock.now()).calendar).toBeGreaterThan(instant);
  });

const handleOf = (jobId: string) =>
  stack.client.workflow.getHandle(`liability-report/${stack.programId}/${jobId}`);

const done = (jobId: string) =>
  eventually(async () => {
    const found = await getJob(stack.deps, liabilityReport, nameOf(jobId));
    expect(found.state).toBe("DONE");
    return { ...found.sum, ...(await readOutstanding(stack.deps, found, found.sum)) };
  });

test("adds up all accounts, and names those that fail", async () => {
  const { deps, programId, clients, config } = stack;
  const userIds = Array.from({ length: 40 }, (_, i) => `user-${i}`);
  for (const userId of userIds) await grantPoints(deps, { ...event(userId, "g"), points: 10 });
  const { calendar: since } = await deps.clock.now();
  await pass(since);
  await usePoints(deps, { ...event("user-1", "u"), points: 10, allowPartial: false });
  const key = { pk: { S: `A#${programId}#user_7` }, sk: { S: "A" } };
  await changeItem(clients.retrying, `${config.tablePrefix}accounts`, key, (item) => ({
    ...item,
    n: { N: "2" },
  }));
  const { createTime: asOf } = await create("first", since);
  await pass(asOf);
  await usePoints(deps, { ...event("user-2", "u"), points: 4, allowPartial: false });
  await grantPoints(deps, { ...event("late", "g"), points: 10 });
  const result = await done("first");
  expect(result).toMatchObject({
    ...{ accounts: 40, members: 39, failed: 1 },
    totals: { issuedPoints: "0", usedPoints: "10" },
    failures: [{ userId: "user_7", reason: "INTERNAL" }],
  });
  expect(result.outstanding).toBe(390n);
  const handle = handleOf("first");
  expect(await handle.result()).toMatchObject({
    ...{ accounts: 40, members: 39, failed: 1 },
    totals: { issued_points: "0", used_points: "10" },
  });
  const details = await showsDetails(handle, ", 390 points were outstanding.");
  expect(details).toContain(
    "Read 40 accounts, of which 39 had points; 1 failed: user_7 (INTERNAL).",
  );
  expect(details).toContain("| used | 10 |");
});

test("a run that was terminated is started again, as of the first instant", async () => {
  const { deps } = stack;
  const { createTime: asOf } = await create("terminated");
  await handleOf("terminated").terminate("by hand");
  await pass(asOf);
  await grantPoints(deps, { ...event("later", "g"), points: 10 });
  expect(await create("terminated")).toMatchObject({ createTime: asOf, replayed: true });
  const result = await done("terminated");
  // With the account of the other test that came after its report.
  expect(result).toMatchObject({ accounts: 41, members: 40 });
});
