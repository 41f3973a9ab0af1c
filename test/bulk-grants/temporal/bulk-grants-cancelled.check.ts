/** Tests cancellations of a bulk grant while its rows run. */
import type { WorkflowFailedError } from "@temporalio/client";
import { CancelledFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BulkGrantResult } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { changeBulkGrant } from "../../../src/bulk-grants/use-cases/bulk-grant-record.ts";
import { cancelBulkGrant } from "../../../src/bulk-grants/use-cases/commands.ts";
import { executeRow } from "../../../src/bulk-grants/use-cases/execute-row.ts";
import { startActiveBulkGrants } from "../../../src/bulk-grants/use-cases/reconcile.ts";
import type { Lease } from "../../../src/bulk-grants/use-cases/run-lease.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  outcomesOf,
  readBulk,
  startRows,
  submit,
} from "../../support/fixtures/bulk-grants.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
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

const submitted = (options: Parameters<typeof submit>[2], deps = stack.deps) =>
  submit(deps, stack.programId, options);

describe("a bulk grant half way", () => {
  test("is cancelled after the rows under way, and says what was granted", async () => {
    const userIds = await startRows(stack, "cancelled");
    const { programId } = stack;
    const by = { caller: asService("op"), reason: "a mistake" };
    await cancelBulkGrant(stack.deps, { programId, bulkGrantId: "cancelled", ...by });
    await showsDetails(bulkGrantRun(stack, "cancelled"), "**CANCELLING**: Cancelled by op");
    const { counts, state } = await bulkGrantRun(stack, "cancelled").result();
    const { 10: granted, 0: notRun } = await balances(stack, userIds);
    expect(state).toBe("CANCELLED");
    expect(counts).toMatchObject({
      granted_count: granted,
      not_run_count: notRun,
      failed_count: 0,
    });
    expect(outcomesOf(slackStack.slack, "cancelled")).toHaveLength(1);

    // The rest, as the next revision.
    await submitted({ id: "cancelled", userIds: [...userIds, "cancelled-new"] });
    const next = await comesTo(stack, "cancelled", "AWAITING_APPROVAL");
    expect(next.checked).toMatchObject({ alreadyGrantedCount: granted });
    await approve(stack.deps, next);
    await comesTo(stack, "cancelled", "DONE");
    expect(await balances(stack, [...userIds, "cancelled-new"])).toEqual({ 10: 502 });
  });

  test("is counted again when no row comes any more, and reported once more", async () => {
    const { deps, programId } = stack;
    const name = { programId, bulkGrantId: "recounted" };
    const userIds = await startRows(stack, "recounted");
    await cancelBulkGrant(deps, { ...name, caller: asService("op"), reason: "" });
    const run = bulkGrantRun(stack, "recounted");
    const before = (await run.result()) as BulkGrantResult;
    expect(before.counts_final_time).toBeDefined();
    await showsDetails(run, "The counts are final at ");

    // A row that a network held, and the end of the time for which it may.
    const userId = userIds.at(-1) as string;
    const row = { line: userIds.length + 1, userId, points: 10, reason: "test" };
    const lease: Lease = { isHeld: true, decided: (send) => send() };
    const { bulkGrant: cancelled } = await readBulk(stack, "recounted");
    await executeRow(deps, cancelled, row, lease, expect.unreachable);
    await changeBulkGrant(deps, name, (record, now) => ({ ...record, countsFinalTime: now }));

    // The index of bulk grants that a pass reads may lag.
    await eventually(async () => {
      await startActiveBulkGrants(deps, (_, error) => Promise.reject(error));
      const { bulkGrant } = await readBulk(stack, "recounted");
      expect(bulkGrant).toMatchObject({ state: "CANCELLED", report: "SENT" });
      expect(bulkGrant).not.toHaveProperty("countsFinalTime");
    });
    const { 10: granted, 0: notRun } = await balances(stack, userIds);
    expect(granted).toBe(before.counts.granted_count + 1);
    const { counts_final_time: _, ...rest } = before;
    const counts = {
      ...before.counts,
      granted_count: granted,
      granted_points: 10 * (granted ?? 0),
    };
    expect(await bulkGrantRun(stack, "recounted").result()).toEqual({
      ...rest,
      counts: { ...counts, not_run_count: notRun },
    });
    expect(outcomesOf(slackStack.slack, "recounted")).toHaveLength(2);
  });

  test("is cancelled by a cancellation of the run in Temporal", async () => {
    await startRows(stack, "canceled");
    const run = bulkGrantRun(stack, "canceled");
    await run.cancel();
    const ended = await run.result().catch((error: WorkflowFailedError) => error.cause);
    expect(ended).toBeInstanceOf(CancelledFailure);
    const { bulkGrant } = await readBulk(stack, "canceled");
    expect(bulkGrant.state).toBe("CANCELLED");
    expect(bulkGrant.actions.at(-1)).toMatchObject({
      action: "CANCEL",
      caller: asService("temporal"),
    });
  });
});
