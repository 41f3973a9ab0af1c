/** Tests the verification of a program, which finds an account that was tampered with. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { grantPoints } from "../../src/app/points/commands.ts";
import { getProgramVerification, verifyProgram } from "../../src/app/points/verify.ts";
import { asService } from "../../src/domain/caller.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

const done = () =>
  eventually(async () => {
    const found = await getProgramVerification(stack.deps, stack.programId);
    expect(found.state).not.toBe("RUNNING");
    return found;
  });

test("a program that was never verified has no verification", async () => {
  const verification = getProgramVerification(stack.deps, stack.programId);
  await expect(verification).rejects.toMatchObject({ reason: "VERIFICATION_NOT_FOUND" });
});

test("is RUNNING first, and a second call joins it", async () => {
  const { deps, programId, proxy } = stack;
  proxy.faults({ delay: 1, delayMs: [1_500, 1_500], operations: "reads" });
  const first = await verifyProgram(deps, programId);
  expect(first).toMatchObject({ state: "RUNNING", accounts: 0, wrong: 0 });
  expect(await verifyProgram(deps, programId)).toMatchObject({ startTime: first.startTime });
  proxy.faults({});
  expect(await done()).toMatchObject({ state: "DONE", startTime: first.startTime });
});

test("names the accounts that differ from their ledgers", async () => {
  const { deps, programId, clients, config } = stack;
  const userIds = Array.from({ length: 40 }, (_, i) => `user-${i}`);
  for (const userId of userIds) {
    const change = { programId, userId, eventId: "e", reason: "", caller: asService("tests") };
    await grantPoints(deps, { ...change, points: 7, deadline: undefined });
  }
  const started = Date.now();
  const first = await verifyProgram(deps, programId);
  // Temporal returns the time in whole seconds.
  expect(first.startTime).toBeGreaterThan(started - 1_000);
  expect(first.startTime).toBeLessThanOrEqual(Date.now());
  expect(first.workflowId).toBe(`verify-program/${programId}`);
  expect(await done()).toMatchObject({
    state: "DONE",
    accounts: userIds.length,
    entries: userIds.length,
    wrong: 0,
    reports: [],
  });

  await clients.retrying.send(
    new UpdateItemCommand({
      TableName: `${config.tablePrefix}points`,
      Key: { pk: { S: `A#${programId}#user-7` }, sk: { S: "A" } },
      UpdateExpression: "SET n = :n",
      ExpressionAttributeValues: { ":n": { N: "2" } },
    }),
  );
  await verifyProgram(deps, programId);
  const found = await done();
  expect(found).toMatchObject({ state: "DONE", accounts: userIds.length, wrong: 1, failed: 0 });
  const differences = [{ field: "last", expected: "1", actual: "2" }];
  expect(found.reports).toEqual([{ userId: "user-7", differences, unreported: 0 }]);
});
