/** Tests the month-end sweep: what it expires, and what it reports. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { escapeMarkdown } from "../../../src/platform/words/markdown.ts";
import { setTime } from "../../../src/platform/work/test-clock.ts";
import type { MonthEndResult } from "../../../src/points/contract/month-ends.ts";
import {
  at,
  findByState,
  grantTo,
  ledgerOf,
  newProgram,
} from "../../support/fixtures/month-ends.ts";
import { metadataOf } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

let stack: WorkerStack;
let runs = 0;
beforeAll(async () => {
  stack = await startWorkerStack({ testClock: true, lifetime: 3 });
});
afterAll(() => stack.stop());

const monthEnd = (programId: string): Promise<MonthEndResult> =>
  stack.client.workflow.execute("monthEnd", {
    workflowId: `month-end-test-${++runs}`,
    taskQueue: stack.config.taskQueue,
    args: [{ program_id: programId }],
  });

describe("a month's end", () => {
  test("expires what is due, and only that", async () => {
    const { deps } = stack;
    const programId = await newProgram(stack, "due");
    await setTime(deps, at(1, 10));
    await grantTo(stack, programId, "old", "jan", 10);
    await setTime(deps, at(2, 10));
    await grantTo(stack, programId, "young", "feb", 20);
    await grantTo(stack, programId, "old", "feb", 20);

    await setTime(deps, at(3, 31));
    expect(await monthEnd(programId)).toMatchObject({ expired: 0, unchanged: 0, failed: 0 });
    await setTime(deps, at(4));
    expect(await monthEnd(programId)).toMatchObject({ expired: 1, unchanged: 0, failed: 0 });
    expect(await ledgerOf(stack, programId, "young")).toHaveLength(1);
    const expired = (await ledgerOf(stack, programId, "old"))[2];
    expect(expired).toMatchObject({
      type: "EXPIRED",
      points: 10,
      availablePoints: 20,
      effectiveTime: Date.UTC(2027, 2, 31, 15),
    });
    expect(await monthEnd(programId)).toMatchObject({ expired: 0, unchanged: 0, failed: 0 });
    expect(await ledgerOf(stack, programId, "old")).toHaveLength(3);
  });

  test("is missed in the metrics and the details of the reconciler until it has run", async () => {
    const { deps, client, config, metrics } = stack;
    await setTime(deps, at(1, 10));
    const programId = await newProgram(stack, "missed");
    await setTime(deps, at(3));
    const reconciler = await client.workflow.start("reconciler", {
      workflowId: "reconciler-of-month-ends",
      taskQueue: config.taskQueue,
      args: [{}],
    });
    const samples = (id: string) =>
      metrics.registry
        .metrics()
        .then((page) => page.split("\n").filter((line) => line.includes(`{program_id="${id}"}`)));
    const expectBehind = (id: string, months: number) =>
      eventually(async () =>
        expect(await samples(id)).toEqual([
          `meguri_month_end_months_behind{program_id="${id}"} ${months}`,
          `meguri_month_end_failed_accounts{program_id="${id}"} 0`,
        ]),
      );
    await expectBehind(programId, 2);
    await eventually(async () => {
      const details = (await metadataOf(reconciler)).currentDetails;
      expect(details).toContain("Month ends are behind in ");
      expect(details).toContain(`${escapeMarkdown(programId)} (2 months)`);
    });
    await monthEnd(programId);
    await expectBehind(programId, 0);
    await reconciler.terminate();
  });

  test("of an unknown program fails with the reason", async () => {
    await expect(monthEnd("nowhere")).rejects.toMatchObject({
      cause: { type: "PROGRAM_NOT_FOUND", nonRetryable: true },
    });
    await findByState(stack, "month-end-test", "FAILED");
  });

  test("reports its months in the program's zone, and how far it has come", async () => {
    const { deps, client, config } = stack;
    const programId = await newProgram(stack, "reported", "America/New_York");
    await setTime(deps, Date.UTC(2026, 10, 10));
    for (const userId of ["a", "b"]) await grantTo(stack, programId, userId, "nov", 10);
    await setTime(deps, Date.UTC(2026, 11, 10));
    await grantTo(stack, programId, "c", "dec", 10);
    const run = (workflowId: string) =>
      client.workflow.start("monthEnd", {
        workflowId,
        taskQueue: config.taskQueue,
        args: [{ program_id: programId }],
      });
    // In New York, February begins five hours after this.
    await setTime(deps, Date.UTC(2027, 1, 1));
    const early = await run("month-end-early");
    const december = { month: "2026-12", granted_up_to: "2026-10" };
    expect(await early.result()).toMatchObject({ expired: 0, months: december });

    await setTime(deps, Date.UTC(2027, 1, 1, 5));
    const handle = await run("month-end-reported");
    const report =
      "The month end of January 2027 (2027-01) is done. Expired what was granted up to " +
      "November 2026 (2026-11): 2 accounts, 0 unchanged, 0 failed";
    const months = { month: "2027-01", granted_up_to: "2026-11" };
    expect(await handle.result()).toEqual({ expired: 2, unchanged: 0, failed: 0, months, report });
    expect((await metadataOf(handle)).currentDetails).toBe(report);
    await findByState(stack, "month-end-reported", "DONE");
    await eventually(async () => {
      const query = 'MeguriMonth = "2027-01" AND MeguriState = "DONE"';
      expect((await client.workflow.count(query)).count).toBe(1);
    });

    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes, userMetadata }) =>
        activityTaskScheduledEventAttributes?.activityType?.name === "expireShard"
          ? [Buffer.from(userMetadata?.summary?.data ?? []).toString()]
          : [],
    );
    expect(summaries).toContain('"shard 16 of 16"');
  });
});
