/** Tests the pause of a bulk grant while its rows run. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BulkGrantView } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import {
  balances,
  bulkGrantRun,
  outcomesOf,
  readBulk,
  startRows,
} from "../../support/fixtures/bulk-grants.ts";
import { listed, showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { type SlackStack, startSlackStack } from "../../support/servers/slack-stack.ts";
import type { WorkerStack } from "../../support/servers/worker.ts";

let slackStack: SlackStack;
let stack: WorkerStack;
beforeAll(async () => {
  slackStack = await startSlackStack();
  ({ stack } = slackStack);
});
afterAll(() => slackStack.stop());

const update = (id: string, name: string, input: object) =>
  bulkGrantRun(stack, id).executeUpdate(name, { args: [input] as [unknown] });

test("a bulk grant half way is paused after the rows under way, and resumed", async () => {
  const userIds = await startRows(stack, "paused");
  const run = bulkGrantRun(stack, "paused");
  await showsDetails(run, "Run 1 executes the rows since 20");
  await update("paused", "pause", { subject: "op", reason: "a *question*" });
  const by = "Paused by op via temporal (a \\*question\\*).";
  await showsDetails(run, `**PAUSING**: ${by}`);
  await showsDetails(run, `**PAUSED**: ${by}`);
  await eventually(async () => {
    expect(await listed(stack, 'MeguriState = "PAUSED"')).toEqual([run.workflowId]);
  });
  const { progress } = await readBulk(stack, "paused");
  expect(progress.grantedCount % 250).toBe(0);
  expect(progress.grantedCount).toBeLessThan(501);
  expect(await run.query<BulkGrantView>("progress")).toMatchObject({
    counts: { granted_count: progress.grantedCount },
  });
  const { 10: granted } = await balances(stack, userIds);
  expect(granted).toBe(progress.grantedCount);

  await update("paused", "resume", { subject: "op" });
  expect(await run.result()).toMatchObject({ state: "DONE", counts: { granted_count: 501 } });
  expect(await balances(stack, userIds)).toEqual({ 10: 501 });
  expect(outcomesOf(slackStack.slack, "paused")).toHaveLength(1);
});
