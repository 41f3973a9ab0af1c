/** Tests the verification of a program, which finds an account that was tampered with. */

import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { getProgramVerification, verifyProgram } from "../../../src/points/use-cases/verify.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { changeItem } from "../../support/stores/change-item.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
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
  const first = await verifyProgram(deps, programId, false);
  expect(first).toMatchObject({ state: "RUNNING", accounts: 0, wrong: 0 });
  expect(await verifyProgram(deps, programId, false)).toMatchObject({ startTime: first.startTime });
  const repair = verifyProgram(deps, programId, true);
  await expect(repair).rejects.toMatchObject({ reason: "WRONG_STATE" });
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
  const first = await verifyProgram(deps, programId, false);
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

  const key = { pk: { S: `A#${programId}#user-7` }, sk: { S: "A" } };
  await changeItem(clients.retrying, `${config.tablePrefix}points`, key, (item) => ({
    ...item,
    n: { N: "2" },
  }));
  await verifyProgram(deps, programId, false);
  const found = await done();
  expect(found).toMatchObject({ state: "DONE", accounts: userIds.length, wrong: 1, failed: 0 });
  const differences = [{ field: "last", expected: "1", actual: "2" }];
  expect(found.reports).toEqual([{ userId: "user-7", differences, unreported: 0 }]);
  expect(found).toMatchObject({ repair: false, repaired: 0 });

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
  await verifyProgram(deps, programId, true);
  const repaired = { repair: true, accounts: userIds.length - 1, wrong: 1, repaired: 1, failed: 1 };
  expect(await done()).toMatchObject({
    ...{ state: "DONE", ...repaired, reports: found.reports },
    failures: [{ userId: "user-8", reason: "LEDGER_DAMAGED" }],
  });
  const handle = stack.client.workflow.getHandle(`verify-program/${programId}`);
  await showsDetails(
    handle,
    "Verified 39 accounts; 1 differed, 1 repaired, 1 could not be verified or repaired: " +
      "user-8 (LEDGER_DAMAGED).",
  );
  await verifyProgram(deps, programId, false);
  expect((await done()).reports.map(({ userId }) => userId)).toEqual(["user-8"]);
});
