/** Tests the run of a bulk grant: validation, approval, rows, reports and what people change. */
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BulkGrantView } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { changeBulkGrant } from "../../../src/bulk-grants/use-cases/bulk-grant-record.ts";
import { approveBulkGrant, retryBulkGrant } from "../../../src/bulk-grants/use-cases/commands.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  outcomesOf,
  readBulk,
  submit,
  titlesAbout,
  usersOf,
} from "../../support/fixtures/bulk-grants.ts";
import { listed, metadataOf, showsDetails } from "../../support/fixtures/operators.ts";
import { eventsOf, freeze } from "../../support/fixtures/reservations.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import type { SlackServer } from "../../support/servers/slack-server.ts";
import { type SlackStack, startSlackStack } from "../../support/servers/slack-stack.ts";
import type { WorkerStack } from "../../support/servers/worker.ts";

let slackStack: SlackStack;
let slack: SlackServer;
let stack: WorkerStack;
beforeAll(async () => {
  slackStack = await startSlackStack();
  ({ slack, stack } = slackStack);
});
afterAll(() => slackStack.stop());

const submitted = (options: Parameters<typeof submit>[2], deps = stack.deps) =>
  submit(deps, stack.programId, options);

const update = (id: string, name: string, input: object) =>
  bulkGrantRun(stack, id).executeUpdate(name, { args: [input] as [unknown] });

/** Waits until people are told of the wait: those who were not are not told of its end. */
const isAnnounced = (id: string) =>
  eventually(async () => {
    expect((await readBulk(stack, id)).bulkGrant.announced).toBe("WAITING");
  });

/** Expects that an update is refused, and returns why. */
async function refusal(answer: Promise<unknown>): Promise<string | undefined> {
  const error = await answer.then(
    () => expect.unreachable("it should be refused"),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError);
  return (error as WorkflowUpdateFailedError).cause?.message;
}

describe.concurrent("a bulk grant", () => {
  test("is validated, approved by an Update, run and reported once", async () => {
    const userIds = usersOf("life", 30);
    const { revision } = await submitted({ id: "life", userIds, title: "夏の*キャンペーン*" });
    await comesTo(stack, "life", "AWAITING_APPROVAL");
    const run = bulkGrantRun(stack, "life");
    const details = await showsDetails(run, "Waits for 1 approval until");
    expect(details).toContain("points of a row: 10 to 10, median 10");
    expect(details).toContain("- title: 夏の\\*キャンペーン\\*\n");
    expect(details).toContain("submitted by: submitter via desk");
    expect(details).toContain("in all: 30 rows, 30 members, 300 points");
    expect(details).toContain("- rows by their points: 30 rows of 10 to 19\n");
    expect(details).toContain("- reason: test: 30 rows, 300 points\n");
    expect(details).toContain("- accounts: 30 users without one, 0 frozen\n");
    expect(details).toMatch(/\n- points expire: \d{4}-\d\d-01T00:00:00\+09:00\n/);
    expect(details).toContain(revision.digest);
    await eventually(async () => {
      const query =
        'MeguriState = "AWAITING_APPROVAL" AND MeguriPoints = 300 AND MeguriCaller = "desk"' +
        ' AND MeguriActor = "submitter"';
      expect(await listed(stack, query)).toEqual([run.workflowId]);
    });
    expect(await (await run.describe()).staticSummary()).toBe(
      "夏の\\*キャンペーン\\*: grant 300 points in 30 rows",
    );

    await isAnnounced("life");
    const { digest } = revision;
    expect(await refusal(update("life", "pause", {}))).toContain("subject");
    expect(await refusal(update("life", "pause", { subject: "b\u202e" }))).toContain("subject");
    expect(await refusal(update("life", "pause", { subject: "b" }))).toContain("AWAITING_APPROVAL");
    await approveBulkGrant(stack.deps, {
      ...{ programId: stack.programId, bulkGrantId: "life", digest },
      ...{ caller: { service: "desk", subject: "mei" }, reason: "checked with *marketing*" },
    });

    const counts = {
      granted_count: 30,
      granted_points: 300,
      already_granted_count: 0,
      failed_count: 0,
      invalid_count: 0,
      not_run_count: 0,
      problem_counts: {},
    };
    expect(await run.result()).toEqual({
      program_id: stack.programId,
      bulk_grant_id: "life",
      state: "DONE",
      revision: 1,
      digest,
      counts,
    });
    expect(await balances(stack, userIds)).toEqual({ 10: 30 });
    await eventually(async () => {
      const query = 'MeguriActor = "submitter" AND MeguriActor = "mei" AND MeguriState = "DONE"';
      expect(await listed(stack, query)).toEqual([run.workflowId]);
    });
    expect(titlesAbout(slack, "life")).toEqual([
      "*Bulk grant awaits approval*",
      "*Bulk grant is approved*",
      "*Bulk grant is DONE*",
    ]);
    expect((await readBulk(stack, "life")).bulkGrant.report).toBe("SENT");
    const done = (await metadataOf(run)).currentDetails;
    expect(done).toContain("- granted: 30 rows, 300 points\n");
    expect(done.split("\n").slice(0, 3)).toEqual([
      "**DONE**: Done: each row was granted.",
      "",
      `- digest: \`${digest}\``,
    ]);
    expect(done).toMatch(/\n- approvals: 1 of 1\n- approved by: mei via desk .* at \S+\+09:00\n/);
    expect(done).toContain("(checked with \\*marketing\\*)");
    expect((await run.describe()).memo).toEqual({ summary: expect.stringMatching(/^夏の/) });
    expect(await run.query<BulkGrantView>("progress")).toMatchObject({ state: "DONE", counts });
  });

  test("that takes one step has a history of at most 75 events", async () => {
    const bulkGrant = await submitted({ id: "short", userIds: usersOf("short", 50) });
    await comesTo(stack, "short", "AWAITING_APPROVAL");
    await approve(stack.deps, bulkGrant);
    const run = bulkGrantRun(stack, "short");
    await run.result();
    expect((await eventsOf(run)).length).toBeLessThanOrEqual(75);
  });

  test("that has invalid rows ends INVALID, and its next revision is another run", async () => {
    await submitted({ id: "twice", userIds: ["twice-a", "twice-b", "twice-a"] });
    await comesTo(stack, "twice", "INVALID");
    expect(await bulkGrantRun(stack, "twice").result()).toMatchObject({
      state: "INVALID",
      revision: 1,
      counts: { invalid_count: 1, problem_counts: { USER_TWICE: 1 } },
    });
    const invalid = bulkGrantRun(stack, "twice");
    expect((await metadataOf(invalid)).currentDetails).toMatch(
      /\n- first of the rows that cannot be granted:\n {2}- line 4: USER_TWICE\n- bulk grant: /,
    );
    const { currentDetails } = await metadataOf(invalid);
    expect(currentDetails).toMatch(/^\*\*INVALID\*\*: 1 row is invalid\.\n/);
    expect(currentDetails).toContain("- invalid: 1 × USER_TWICE\n");
    expect((await invalid.describe()).memo).toEqual({
      summary: "INVALID, 1 of 3 rows invalid: grant 20 points in 3 rows",
    });
    await submitted({ id: "twice", userIds: ["twice-a", "twice-b"] });
    const { revision } = await comesTo(stack, "twice", "AWAITING_APPROVAL");
    expect(revision.number).toBe(2);
    await isAnnounced("twice");
    await update("twice", "reject", { subject: "approver", reason: "not this one" });
    const run = bulkGrantRun(stack, "twice");
    expect(await run.result()).toMatchObject({ state: "REJECTED", revision: 2 });
    expect((await metadataOf(run)).currentDetails).toContain(
      "Rejected by approver via temporal (not this one).",
    );
    expect(titlesAbout(slack, "twice")).toEqual([
      "*Bulk grant awaits approval*",
      "*Bulk grant is REJECTED*",
    ]);
    expect(slack.messages.find((text) => text.includes("`twice`"))).toContain(
      "Changes: 0 users added, 0 removed, 0 changed since revision 1",
    );
  });

  test("names the first 20 invalid rows by line and code, and counts all by code", async () => {
    await submitted({ id: "many", userIds: Array.from({ length: 25 }, () => "many") });
    await comesTo(stack, "many", "INVALID");
    const run = bulkGrantRun(stack, "many");
    await run.result();
    const lines = Array.from({ length: 20 }, (_, i) => `  - line ${3 + i}: USER_TWICE`);
    const { currentDetails } = await metadataOf(run);
    expect(currentDetails).toMatch(/^\*\*INVALID\*\*: 24 rows are invalid\.\n/);
    expect(currentDetails).toContain(
      [
        ...["- invalid: 24 × USER_TWICE", "- first of the rows that cannot be granted:"],
        ...[...lines, "  - and 4 more", "- bulk grant: many, revision 1"],
      ].join("\n"),
    );
  });

  test("waits for its execute time", async () => {
    const executeTime = Date.now() + 3_000;
    const bulkGrant = await submitted({ id: "timed", userIds: ["timed-0"], executeTime });
    await comesTo(stack, "timed", "AWAITING_APPROVAL");
    await approve(stack.deps, bulkGrant);
    expect(await bulkGrantRun(stack, "timed").result()).toMatchObject({ state: "DONE" });
    const { startTime = 0 } = (await readBulk(stack, "timed")).bulkGrant;
    expect(startTime).toBeGreaterThanOrEqual(executeTime);
  });

  test("can be paused, resumed and cancelled while it waits for its execute time", async () => {
    const executeTime = Date.now() + 3_600_000;
    const bulkGrant = await submitted({ id: "waits", userIds: ["waits-0"], executeTime });
    await comesTo(stack, "waits", "AWAITING_APPROVAL");
    await approve(stack.deps, bulkGrant);
    const run = bulkGrantRun(stack, "waits");
    await showsDetails(run, "Approved, and starts at ");
    await update("waits", "pause", { subject: "op" });
    await showsDetails(run, "Paused by op via temporal.");
    await update("waits", "resume", { subject: "op" });
    await showsDetails(run, "Approved, and starts at ");
    await update("waits", "cancel", { subject: "op" });
    expect(await run.result()).toMatchObject({ state: "CANCELLED", counts: { granted_count: 0 } });
  });

  test("is reported again when it waits, and cancelled when it is never approved", async () => {
    const approvalTimes = { reminderMs: 500, expiryMs: 3_600_000 };
    const { bulkGrantId } = await submitted(
      { id: "late", userIds: ["late-0"] },
      { ...stack.deps, approvalTimes },
    );
    const run = bulkGrantRun(stack, "late");
    await eventually(async () =>
      expect(titlesAbout(slack, "late")).toContain("*Bulk grant still awaits approval*"),
    );
    // Its time is over now, so that no slow machine cancels before it reminds.
    const { programId, deps, workflows } = stack;
    const { record } = await changeBulkGrant(deps, { programId, bulkGrantId }, (before, now) => ({
      ...before,
      expireTime: now,
    }));
    await workflows.refreshBulkGrant(record);
    expect(await run.result()).toMatchObject({ state: "CANCELLED", counts: { granted_count: 0 } });
    expect((await metadataOf(run)).currentDetails).toContain("not approved in time");
    expect(titlesAbout(slack, "late")).toEqual([
      "*Bulk grant awaits approval*",
      "*Bulk grant still awaits approval*",
      "*Bulk grant is CANCELLED*",
    ]);
  });
});

describe("rows that fail", () => {
  test("do not stop the others, and are retried", async () => {
    const { deps, programId } = stack;
    const grant = {
      programId,
      userId: "frozen-1",
      eventId: "e",
      points: 1,
      reason: "",
      caller: asService("tests"),
    };
    await grantPoints(deps, { ...grant, deadline: undefined });
    const bulkGrant = await submitted({ id: "frozen", userIds: usersOf("frozen", 3) });
    await comesTo(stack, "frozen", "AWAITING_APPROVAL");
    await freeze(stack, "frozen-1", true);
    await approve(deps, bulkGrant);
    expect(await bulkGrantRun(stack, "frozen").result()).toMatchObject({
      state: "DONE_WITH_FAILURES",
      counts: { granted_count: 2, failed_count: 1, problem_counts: { ACCOUNT_FROZEN: 1 } },
    });
    expect(outcomesOf(slack, "frozen")).toHaveLength(1);
    const run = bulkGrantRun(stack, "frozen");
    const details = (await metadataOf(run)).currentDetails;
    expect(details).toContain("- failed: 1 row (1 × ACCOUNT_FROZEN)\n");
    expect(details).toMatch(/cannot be granted:\n {2}- line 3: ACCOUNT_FROZEN\n- bulk grant: /);
    expect(details).not.toContain("frozen-1");
    expect((await run.describe()).memo).toEqual({
      summary: "DONE_WITH_FAILURES, 1 of 3 rows failed: grant 30 points in 3 rows",
    });

    await freeze(stack, "frozen-1", false);
    const by = { caller: asService("op"), reason: "" };
    await retryBulkGrant(deps, { programId, bulkGrantId: "frozen", ...by });
    await comesTo(stack, "frozen", "DONE");
    expect(await balances(stack, usersOf("frozen", 3))).toEqual({ 10: 2, 11: 1 });
    await eventually(async () => expect(outcomesOf(slack, "frozen")).toHaveLength(2));
  });

  test("and messages that Slack refuses do not fail the run", async () => {
    const refused = { status: 404, body: "no_service" };
    slack.failNext(refused, refused, refused);
    const bulkGrant = await submitted({ id: "unreported", userIds: ["unreported-0"] });
    await isAnnounced("unreported");
    await approve(stack.deps, bulkGrant);
    expect(await bulkGrantRun(stack, "unreported").result()).toMatchObject({ state: "DONE" });
    expect((await readBulk(stack, "unreported")).bulkGrant.report).toBe("FAILED");
    expect(titlesAbout(slack, "unreported")).toEqual([]);
  });
});
