/** Tests a month end that cannot expire the points of some accounts. */
import type { WorkflowFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { parseMonth } from "../../../src/platform/words/month.ts";
import { setTime } from "../../../src/platform/work/test-clock.ts";
import { type MonthEndFailure, monthEndId } from "../../../src/points/contract/month-ends.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import {
  at,
  findByState,
  grantTo,
  ledgerOf,
  newProgram,
} from "../../support/fixtures/month-ends.ts";
import { metadataOf } from "../../support/fixtures/operators.ts";
import { eventually, patiently } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { changeItem } from "../../support/stores/change-item.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ testClock: true, lifetime: 3 });
});
afterAll(() => stack.stop());

/** The outcome of the last month end on the program's record. */
const keptOf = async (programId: string) =>
  (await stack.deps.reader.get(programRef(programId)))?.value.monthEnd;

/** Changes the record of an account without a server. */
const tamper = (programId: string, userId: string, change: (item: Item) => Item) =>
  changeItem(
    stack.clients.retrying,
    `${stack.config.tablePrefix}accounts`,
    { pk: { S: `A#${programId}#${userId}` }, sk: { S: "A" } },
    change,
  );

test("a month's end fails after all accounts but the damaged ones, and names these", async () => {
  const { deps, client, workflows } = stack;
  const programId = await newProgram(stack, "damaged");
  await setTime(deps, at(1, 10));
  for (const userId of ["a", "b", "c", "d"]) await grantTo(stack, programId, userId, "jan", 10);
  await tamper(programId, "b", (item) => ({ ...item, n: { N: "0" } }));
  await tamper(programId, "c", ({ s, ...item }) => ({
    ...item,
    s: { L: [...(s?.L ?? []), { N: "0" }] },
  }));
  await setTime(deps, at(4));
  const found = await deps.reader.get(programRef(programId));
  if (!found) throw new Error("no program");
  await patiently(() => workflows.ensureMonthEnd(found.value));
  const schedule = client.schedule.getHandle(monthEndId(programId));
  const runOf = async (past: readonly string[]) => {
    await schedule.trigger();
    return eventually(async () => {
      const { info } = await schedule.describe();
      const actions = info.recentActions.map(({ action }) => action.workflow);
      const run = actions.find(({ firstExecutionRunId: id }) => !past.includes(id));
      if (!run) throw new Error("not started yet");
      return run;
    });
  };
  const first = await runOf([]);
  const ended = client.workflow.getHandle(first.workflowId, first.firstExecutionRunId);
  const cause = await ended.result().then(
    () => expect.unreachable("it should fail"),
    (error: WorkflowFailedError) => error.cause as ApplicationFailure,
  );
  expect(cause).toMatchObject({ type: "MONTH_END_INCOMPLETE", nonRetryable: true });
  expect(cause.message).toMatch(
    /^could not expire what is due in 2 accounts, which are left to the next run: /,
  );
  for (const name of ["b (CONTENDED)", "c (PROGRAM_STALE)"]) expect(cause.message).toContain(name);
  const [details] = cause.details as [MonthEndFailure];
  expect(details).toMatchObject({ expired: 2, unchanged: 0, failed: 2 });
  const report = (await metadataOf(ended)).currentDetails;
  expect(report).toBe(details.report);
  expect(report).toMatch(/^The month end of March 2027 \(2027-03\) is incomplete\. /);
  expect(report).toContain(": 2 accounts, 0 unchanged, 2 failed: ");
  for (const name of ["b (CONTENDED)", "c (PROGRAM_STALE)"]) expect(report).toContain(name);
  await findByState(stack, first.workflowId, "FAILED");
  expect(details.failures.toSorted((x, y) => x.user_id.localeCompare(y.user_id))).toEqual([
    { user_id: "b", reason: "CONTENDED" },
    { user_id: "c", reason: "PROGRAM_STALE" },
  ]);
  expect((await ledgerOf(stack, programId, "d")).at(-1)).toMatchObject({
    type: "EXPIRED",
    points: 10,
  });
  const march = parseMonth("2027-03");
  expect(await keptOf(programId)).toEqual({ month: march, failedCount: 2 });

  // The schedule is not paused, and its next run expires the repaired accounts.
  expect((await schedule.describe()).state.paused).toBe(false);
  await verifyAccount(deps, { programId, userId: "b" }, true);
  await verifyAccount(deps, { programId, userId: "c" }, true);
  const second = await runOf([first.firstExecutionRunId]);
  const again = client.workflow.getHandle(second.workflowId, second.firstExecutionRunId);
  expect(await again.result()).toMatchObject({ failed: 0 });
  expect(await keptOf(programId)).toEqual({ month: march, failedCount: 0 });
  expect((await ledgerOf(stack, programId, "b")).at(-1)).toMatchObject({
    type: "EXPIRED",
    points: 10,
  });
});
