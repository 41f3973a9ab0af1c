/** Tests the workflow by which batch jobs put rows into the input of a run. */
import type { WorkflowFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bulkGrantWorkflowId } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { waitHowToEnd } from "../../../src/bulk-grants/contract/sheet-sources.ts";
import { approveBulkGrant } from "../../../src/bulk-grants/use-cases/commands.ts";
import { failedRows } from "../../../src/bulk-grants/use-cases/queries.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { recentActs } from "../../support/acts/list.ts";
import {
  approve,
  balances,
  comesTo,
  outcomesOf,
  readBulk,
  titlesAbout,
} from "../../support/fixtures/bulk-grants.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { type SlackServer, startSlackServer } from "../../support/servers/slack-server.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

let stack: WorkerStack;
let slack: SlackServer;
beforeAll(async () => {
  slack = await startSlackServer();
  stack = await startWorkerStack({ env: { MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl } });
  await enforceRules(stack.deps, stack.programId, {
    sources: ["temporal"],
    tiers: [{ maxTotalPoints: 50, requiredApprovalCount: 0 }],
  });
});
afterAll(async () => {
  await stack.stop();
  await slack.stop();
});

type Row = { readonly user_id: string; readonly points: number; readonly reason?: string };

const start = (workflowId: string, bulkGrantId: string, rows: readonly Row[], more = {}) =>
  stack.client.workflow.start("bulkGrantRows", {
    workflowId,
    taskQueue: stack.config.taskQueue,
    args: [{ program_id: stack.programId, bulk_grant_id: bulkGrantId, rows, ...more }],
  });

const own = (id: string) => bulkGrantWorkflowId(stack.programId, id);

async function failureOf(run: Awaited<ReturnType<typeof start>>): Promise<ApplicationFailure> {
  const error = (await run.result().catch((error) => error)) as WorkflowFailedError;
  return error.cause as ApplicationFailure;
}

describe.concurrent("bulkGrantRows", () => {
  test("grants the rows of its input within the tier, as its starter", async () => {
    const rows = [{ user_id: "own-1", points: 5, reason: "夏" }];
    const run = await start(own("own"), "own", rows, { title: "夏の特典", cause: "c-1" });
    expect(await run.result()).toMatchObject({
      ...{ state: "DONE", counts: { granted_count: 1, granted_points: 5 } },
    });
    const { revision } = (await readBulk(stack, "own")).bulkGrant;
    const { identity: subject = "" } = stack.client.options;
    expect(revision).toMatchObject({
      ...{ submitter: { service: "temporal", subject }, source: `temporal/${own("own")}` },
      ...{ title: "夏の特典", cause: "c-1" },
    });
    expect(revision).not.toHaveProperty("starter");
    expect(await balances(stack, ["own-1"])).toEqual({ 5: 1 });
  });

  test("takes 10,000 rows of about 2 MiB, which another person has to approve", async () => {
    // As many bytes as one payload of Temporal takes, with what encodes them.
    const rows = Array.from({ length: 10_000 }, (_, i) => ({
      ...{ user_id: `large-${i}`, points: 1, reason: "r".repeat(128) },
    }));
    const run = await start(own("large"), "large", rows, { subject: "Mei" });
    const waiting = await comesTo(stack, "large", "AWAITING_APPROVAL");
    expect(waiting.revision).toMatchObject({
      ...{ rowCount: 10_000, submitter: { service: "temporal", subject: "Mei" } },
      starter: { service: "temporal", subject: stack.client.options.identity },
    });
    const details = await showsDetails(run, "Waits for 1 approval");
    expect(details).toContain("- submitted by: Mei via temporal");
    expect(details).toContain("- started by: ");
    const { programId, bulkGrantId, revision } = waiting;
    const approval = { programId, bulkGrantId, digest: revision.digest, reason: "" };
    const byMei = { ...approval, caller: { service: "desk", subject: "mei" } };
    const { identity: subject = "" } = stack.client.options;
    const byClient = { ...approval, caller: { service: "desk", subject } };
    for (const attempt of [byMei, byClient]) {
      await expect(approveBulkGrant(stack.deps, attempt)).rejects.toMatchObject({
        reason: "SELF_APPROVAL",
      });
    }
    const acts = await recentActs(stack.deps, stack.programId);
    expect(acts.filter(({ objectId }) => objectId === "large")).toMatchObject([
      {
        ...{ caller: waiting.revision.submitter, via: "TEMPORAL" },
        method: "SubmitBulkGrant",
      },
    ]);
    await run.cancel();
    await comesTo(stack, "large", "CANCELLED");
  });

  test("started twice is one bulk grant, whose end the other run waits for", async () => {
    const rows = [{ user_id: "twice-1", points: 100 }];
    const runs = [await start("job", "twice", rows), await start(own("twice"), "twice", rows)];
    expect(await showsDetails(runs[0] as never, "Waits for")).toContain(waitHowToEnd);
    await approve(stack.deps, await comesTo(stack, "twice", "AWAITING_APPROVAL"));
    const [first, second] = await Promise.all(runs.map((run) => run.result()));
    expect(first).toMatchObject({ state: "DONE", revision: 1 });
    expect(second).toEqual(first);
    expect(await balances(stack, ["twice-1"])).toEqual({ 100: 1 });
  });

  test("finds what is wrong with a row, as in a sheet, and reports it without a file", async () => {
    const rows = [
      { user_id: "wrong-1", points: 0 },
      { user_id: "wrong 2", points: 1.5 },
      { user_id: "wrong-3", points: 1 },
    ];
    const run = await start(own("wrong"), "wrong", rows);
    expect(await run.result()).toMatchObject({
      state: "INVALID",
      counts: {
        invalid_count: 2,
        problem_counts: { POINTS_ZERO: 1, POINTS_MALFORMED: 1, USER_MALFORMED: 1 },
      },
    });
    const { bulkGrant } = await readBulk(stack, "wrong");
    const lines = [];
    for await (const { row } of failedRows(stack.deps, bulkGrant)) lines.push(row.line);
    expect(lines).toEqual([2, 3, 4]);
    expect(bulkGrant.failedRowsAt).toBeUndefined();
    await eventually(async () =>
      expect(titlesAbout(slack, "wrong")).toEqual(["*Bulk grant is INVALID*"]),
    );
  });

  test("fails for no rows, a bad title, and a program that does not name Temporal", async () => {
    const row = { user_id: "refused-1", points: 1 };
    const empty = await start("empty", "refused", []);
    expect(await failureOf(empty)).toMatchObject({
      ...{ type: "INVALID_REQUEST", nonRetryable: true },
      message: expect.stringContaining("there are no rows"),
    });
    const title = await start("title", "refused", [row], { title: "\u200b" });
    expect(await failureOf(title)).toMatchObject({ type: "INVALID_REQUEST" });
    const other = { programId: "other", timeZone: "Asia/Tokyo", lifetimeMonths: 12 };
    await createProgram(stack.deps, other);
    const denied = await start("denied", "refused", [row], { program_id: "other" });
    expect(await failureOf(denied)).toMatchObject({ type: "PERMISSION_DENIED" });
    const none = await start("none", "refused", [row], { program_id: "none" });
    expect(await failureOf(none)).toMatchObject({ type: "PROGRAM_NOT_FOUND" });
    await start(own("reused"), "reused", [row]).then((run) => run.result());
    const reused = await start("reused", "reused", [{ ...row, points: 2 }]);
    expect(await failureOf(reused)).toMatchObject({ type: "WRONG_STATE" });
    expect(outcomesOf(slack, "refused")).toEqual([]);
  });
});
