/** Tests the verification of a program, which finds an account that was tampered with. */

import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actorKey } from "../../../src/platform/temporal/search-attributes.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { getJob, readJob, startJob } from "../../../src/points/use-cases/jobs/jobs.ts";
import { verification } from "../../../src/points/use-cases/jobs/verification.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { changeItem } from "../../support/stores/change-item.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
});
afterAll(() => stack.stop());

let count = 0;
const verify = (repair: boolean) => {
  count += 1;
  const call = { programId: stack.programId, jobId: `v-${count}`, caller: asService("tests") };
  return startJob(stack.deps, verification, { ...call, request: { repair } });
};

/** Waits for the end of the latest verification. */
const done = () =>
  eventually(async () => {
    const name = { programId: stack.programId, jobId: `v-${count}` };
    const { sum, ...found } = await getJob(stack.deps, verification, name);
    expect(found.state).not.toBe("RUNNING");
    return { ...found, ...sum };
  });

test("a verification that was never asked for is not found", async () => {
  const found = getJob(stack.deps, verification, { programId: stack.programId, jobId: "no" });
  await expect(found).rejects.toMatchObject({ reason: "JOB_NOT_FOUND" });
});

test("is RUNNING first, and the same call joins it", async () => {
  const { proxy } = stack;
  proxy.faults({ delay: 1, delayMs: [1_500, 1_500], operations: ["Scan"] });
  const first = await verify(false);
  expect(first).toMatchObject({ state: "RUNNING", sum: { accounts: 0, wrong: 0 } });
  count -= 1;
  const { typedSearchAttributes } = await stack.client.workflow
    .getHandle(first.workflowId)
    .describe();
  expect(typedSearchAttributes.get(actorKey)).toEqual(["tests"]);
  const again = { state: "RUNNING", createTime: first.createTime, replayed: true };
  expect(await verify(false)).toMatchObject(again);
  proxy.faults({});
  expect(await done()).toMatchObject({ state: "DONE", createTime: first.createTime });
});

test("a run that has completed is begun again only without its result", async () => {
  const { deps, programId, clients, config } = stack;
  await verify(false);
  const first = await done();
  const name = { programId, jobId: `v-${count}`, kind: verification.kind.name };
  const key = { pk: { S: `O#${programId}` }, sk: { S: `${name.kind}#${name.jobId}` } };
  const handle = stack.client.workflow.getHandle(first.workflowId);
  const runId = async () => (await handle.describe()).runId;
  const before = await runId();
  // It keeps its result before it ends, and until then a call would join it.
  await handle.result();
  // As a call that has read the record just before its result was kept.
  const { result: _, ...asked } = await readJob(deps, name);
  await deps.workflows.startJob(verification.kind, asked, async () => true);
  expect(await runId()).toBe(before);
  await changeItem(
    clients.retrying,
    `${config.tablePrefix}points`,
    key,
    ({ d, r, ...item }) => item,
  );
  count -= 1;
  await verify(false);
  expect(await done()).toMatchObject({ state: "DONE", accounts: first.accounts });
  expect(await runId()).not.toBe(before);
});

test("names the accounts that differ from their ledgers", async () => {
  const { deps, programId, clients, config } = stack;
  const userIds = Array.from({ length: 40 }, (_, i) => `user-${i}`);
  for (const userId of userIds) {
    const change = { programId, userId, eventId: "e", reason: "", caller: asService("tests") };
    await grantPoints(deps, { ...change, points: 7, deadline: undefined });
  }
  const first = await verify(false);
  expect(first.workflowId).toBe(`verify-program/${programId}/v-${count}`);
  expect(await done()).toMatchObject({
    state: "DONE",
    accounts: userIds.length,
    entries: userIds.length,
    wrong: 0,
    reports: [],
  });

  const key = { pk: { S: `A#${programId}#user-7` }, sk: { S: "A" } };
  await changeItem(clients.retrying, `${config.tablePrefix}accounts`, key, (item) => ({
    ...item,
    n: { N: "2" },
  }));
  await verify(false);
  const found = await done();
  expect(found).toMatchObject({ state: "DONE", accounts: userIds.length, wrong: 1, failed: 0 });
  const differences = [{ field: "last", expected: "1", actual: "2" }];
  expect(found.reports).toEqual([{ userId: "user-7", differences, unreported: 0 }]);
  expect(found).toMatchObject({ request: { repair: false }, repaired: 0 });

  // An account whose ledger cannot be repaired is named, and the other one is repaired.
  const remove = (pk: string, sk: string) =>
    clients.retrying.send(
      new DeleteItemCommand({
        TableName: `${config.tablePrefix}points`,
        Key: { pk: { S: pk }, sk: { S: sk } },
      }),
    );
  await remove(`A#${programId}#user-8`, "L#000000000001");
  await remove(`K#${programId}#user-8#c:e`, "K");
  const { workflowId } = await verify(true);
  const repaired = { accounts: userIds.length - 1, wrong: 1, repaired: 1, failed: 1 };
  expect(await done()).toMatchObject({
    ...{ state: "DONE", ...repaired, reports: found.reports },
    failures: [{ userId: "user-8", reason: "LEDGER_DAMAGED" }],
  });
  const handle = stack.client.workflow.getHandle(workflowId);
  await showsDetails(
    handle,
    "Verified 39 accounts; 1 differed, 1 repaired, 1 could not be verified or repaired: " +
      "user-8 (LEDGER_DAMAGED).",
  );
  await verify(false);
  expect((await done()).reports.map(({ userId }) => userId)).toEqual(["user-8"]);
});
