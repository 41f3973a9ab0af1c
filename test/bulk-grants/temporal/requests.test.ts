/** Tests that a request for one user is shown as what it is, in Temporal's Web UI and in Slack. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestGrant, requestRevoke } from "../../../src/bulk-grants/use-cases/request.ts";
import { escapeMarkdown } from "../../../src/platform/words/markdown.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  titlesAbout,
} from "../../support/fixtures/bulk-grants.ts";
import { metadataOf, showsDetails } from "../../support/fixtures/operators.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { type SlackStack, startSlackStack } from "../../support/servers/slack-stack.ts";

let slackStack: SlackStack;
beforeAll(async () => {
  slackStack = await startSlackStack();
});
afterAll(() => slackStack.stop());

/** What both requests of a test have in common. */
const requestOf = (bulkGrantId: string, userId: string) => ({
  ...{ programId: slackStack.stack.programId, bulkGrantId, userId, reason: "*late* <parcel>" },
  submitter: { service: "desk", subject: "support" },
});

async function summaryOf(id: string) {
  const run = bulkGrantRun(slackStack.stack, id);
  return (await eventually(() => run.describe())).staticSummary();
}

describe.concurrent("a request", () => {
  test("of points says for whom and why, waits, and is granted once", async () => {
    const { stack, slack } = slackStack;
    await requestGrant(stack.deps, { ...requestOf("asked", "ui-aoi"), points: 500 });
    expect(await summaryOf("asked")).toBe(
      escapeMarkdown("Grant 500 points to ui-aoi: *late* <parcel>"),
    );
    const run = bulkGrantRun(stack, "asked");
    const details = await showsDetails(run, "Waits for 1 approval");
    expect(details).toContain("- request: Grant 500 points to ui-aoi\n");
    expect(details).toContain(`- reason: ${escapeMarkdown("*late* <parcel>")}\n`);
    for (const noise of ["in all", "largest rows", "points of a row"]) {
      expect(details).not.toContain(`- ${noise}`);
    }
    const waits = "*Grant 500 points to ui-aoi: request awaits approval*";
    await eventually(async () => expect(titlesAbout(slack, "asked")).toEqual([waits]));
    const message = slack.messages.find((text) => text.includes(waits));
    expect(message).toContain("\nReason: *late* &lt;parcel&gt;\n");
    expect(message).not.toContain("Largest rows");
    await approve(stack.deps, await comesTo(stack, "asked", "AWAITING_APPROVAL"));
    expect(await run.result()).toMatchObject({ state: "DONE", counts: { granted_points: 500 } });
    expect(await balances(stack, ["ui-aoi"])).toEqual({ 500: 1 });
    await eventually(async () =>
      expect(titlesAbout(slack, "asked").at(-1)).toBe(
        "*Grant 500 points to ui-aoi: request is DONE*",
      ),
    );
  });

  test("of a revoke names the grant", async () => {
    const { stack } = slackStack;
    await requestGrant(stack.deps, { ...requestOf("given", "ui-ben"), points: 5 });
    await approve(stack.deps, await comesTo(stack, "given", "AWAITING_APPROVAL"));
    await bulkGrantRun(stack, "given").result();
    const grant = { origin: "b", eventId: "given_ui-ben" } as const;
    await requestRevoke(stack.deps, { ...requestOf("back", "ui-ben"), grant, reason: "" });
    expect(await summaryOf("back")).toBe(
      escapeMarkdown("Revoke up to 5 points of ui-ben, of bulk grant row given_ui-ben"),
    );
    await approve(stack.deps, await comesTo(stack, "back", "AWAITING_APPROVAL"));
    expect(await bulkGrantRun(stack, "back").result()).toMatchObject({ state: "DONE" });
    expect(await balances(stack, ["ui-ben"])).toEqual({ 0: 1 });
    const { currentDetails } = await metadataOf(bulkGrantRun(stack, "back"));
    expect(currentDetails).toContain("Done: 5 points were revoked.");
  });
});
