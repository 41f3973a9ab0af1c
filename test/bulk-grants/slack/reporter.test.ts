/** Tests the reports to Slack against a server that speaks the wire format of its webhooks. */
import { afterAll, describe, expect, test } from "vitest";
import { bulkGrantWorkflowId } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import {
  type BulkGrantReport,
  type PickUpReport,
  type Reporter,
  ReportUncertain,
} from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import type { BulkGrantSummary } from "../../../src/bulk-grants/rules/bulk-grant-summary.ts";
import { createSlackReporter, noReporter } from "../../../src/bulk-grants/slack/reporter.ts";
import {
  createWorkflowLinks,
  noLinks,
  type WorkflowLinks,
} from "../../../src/platform/temporal/links.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { type SlackServer, startSlackServer } from "../../support/servers/slack-server.ts";

const links = createWorkflowLinks("https://temporal.example/", "points prod");

const servers: SlackServer[] = [];
afterAll(async () => {
  for (const server of servers) await server.stop();
});

/** Starts a server for one test, because tests that wait run side by side. */
async function started(workflowLinks: WorkflowLinks = links) {
  const slack = await startSlackServer();
  servers.push(slack);
  const { webhookUrl } = slack;
  const timing = { timeoutMs: 2_000, minDelayMs: 20 };
  return { slack, reporter: createSlackReporter({ webhookUrl, links: workflowLinks, timing }) };
}

describe("a report", () => {
  test("says what was granted and what failed, by whom, and links to both ends", async () => {
    const { slack, reporter } = await started();
    await reporter.send(outcome);
    expect(slack.messages).toEqual([
      [
        "*Bulk grant is DONE_WITH_FAILURES*",
        "`spring` of `cafe`, revision 2",
        "Done, and rows failed: 200 × ACCOUNT_FROZEN, 88 × INTERNAL.",
        "Run these rows again: `meguri bulk retry spring --program cafe`",
        "Or correct them: `meguri bulk export-failed spring --program cafe &gt; failed.csv`, " +
          "then `meguri bulk submit spring failed.csv --program cafe`",
        "The rows that were not granted are in https://drive.example/y.",
        "Digest: `d`",
        "Submitted by: aoi from nightly/rows.csv",
        "In all: 10,000 rows, 10,000 members, 1,000,000 points",
        "Already granted: 12 rows, 1,200 points",
        "Approvals: 2 of 2",
        `Approved by: ben (checked the sums) at ${epoch}`,
        `Approved by: chie at ${epoch}`,
        "Granted: 9,700 rows, 970,000 points",
        "Failed: 288 rows (200 × ACCOUNT_FROZEN, 88 × INTERNAL)",
        "<https://temporal.example/namespaces/points%20prod/workflows/bulk-grant%2Fcafe%2Fspring" +
          "|Workflow> · Source: <https://drive.example/x?a=1&amp;b=%7C2|nightly/rows.csv> · " +
          "Not granted: <https://drive.example/y|drive/failed/rows.errors.csv>",
      ].join("\n"),
    ]);
  });

  test("of what was cancelled says by whom, and how many rows were not executed", async () => {
    const { slack, reporter } = await started();
    await reporter.send({
      ...outcome,
      bulkGrant: {
        ...bulkGrant,
        state: "CANCELLED",
        countsFinalTime: Date.UTC(2026, 10, 26),
        result: {
          grantedCount: 1,
          grantedPoints: 1,
          failedCount: 0,
          notRunCount: 9_999,
          problemCounts: {},
        },
        actions: [
          {
            action: "REJECT",
            revision: 1,
            caller: asService("ben"),
            time: 0,
            reason: "of another revision",
          },
          {
            action: "CANCEL",
            revision: 2,
            caller: asService("chie"),
            time: 0,
            reason: "wrong campaign",
          },
        ],
      },
    });
    const [message = ""] = slack.messages;
    expect(message).toContain("*Bulk grant is CANCELLED*");
    expect(message).toContain("Granted: 1 row, 1 point\nNot run: 9,999 rows\n");
    expect(message).toContain(
      "\nThe counts are final at " +
        "<!date^1795651200^{date_short_pretty} {time}|2026-11-26T00:00:00.000Z>; " +
        "a row may be granted until then.\n",
    );
    expect(message).toContain("Cancelled by chie (wrong campaign).");
    expect(message).not.toContain("Failed");
    expect(message).not.toContain("Rejected");
  });

  test("of an invalid sheet says how many rows are wrong, and which cap is exceeded", async () => {
    const { slack, reporter } = await started();
    const { result: _, ...rest } = bulkGrant;
    const invalid: BulkGrant = {
      ...rest,
      state: "INVALID",
      revision: {
        ...bulkGrant.revision,
        exceededMaxTotalPoints: 900_000,
        sameContentBulkGrantId: "winter",
      },
      checked: { invalidCount: 300, alreadyGrantedCount: 0, alreadyGrantedPoints: 0 },
    };
    await reporter.send({ ...outcome, bulkGrant: invalid });
    expect(slack.messages[0]).toContain(
      "\n300 rows are invalid.\n" +
        "The sum is 1,000,000 points, and the program allows 900,000 points.\n",
    );
    expect(slack.messages[0]).toContain("\nSame rows as: `winter`\n");
  });

  test("of a reversal says what was revoked", async () => {
    const { slack, reporter } = await started();
    const reversal = { reversedBulkGrantId: "winter", cause: "<!channel> case-1" };
    const revision = { ...bulkGrant.revision, ...reversal };
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision } });
    const [message = ""] = slack.messages;
    expect(message).toContain("*Reversal is DONE_WITH_FAILURES*\n");
    expect(message).toContain("\nCause: &lt;!channel&gt; case-1\nReverses: `winter`\n");
    expect(message).toContain("Revoked: 9,700 rows");
  });

  test("shows an id with a backtick without code, which it would end", async () => {
    const { slack, reporter } = await started();
    const bulkGrantId = "a`*b* <!here>";
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, bulkGrantId } });
    const [, second] = (slack.messages[0] ?? "").split("\n");
    expect(second).toBe("a`*b* &lt;!here&gt; of `cafe`, revision 2");
  });

  test("that is a reminder says how many approvals there are, and when it expires", async () => {
    const { slack, reporter } = await started();
    const { result: _, ...rest } = bulkGrant;
    const awaiting: BulkGrant = { ...rest, state: "AWAITING_APPROVAL", approvals: [] };
    await reporter.send({ ...outcome, kind: "REMINDER", bulkGrant: awaiting });
    const [message = ""] = slack.messages;
    expect(message).toContain("*Bulk grant still awaits approval*");
    expect(message).toContain(
      "Waits for 2 approvals until " +
        "<!date^1795651200^{date_short_pretty} {time}|2026-11-26T00:00:00.000Z>",
    );
    expect(message).toContain(
      "|Workflow> · <https://temporal.example/namespaces/points%20prod/workflows?query=" +
        "MeguriState%20%3D%20%22AWAITING_APPROVAL%22%20AND%20" +
        "ExecutionStatus%20%3D%20%22Running%22|All that awaits approval> · Source: ",
    );
  });

  test("gives a command that reads an id with a dash at its beginning as an id", async () => {
    const { slack, reporter } = await started();
    const { result: _, ...rest } = bulkGrant;
    const waiting: BulkGrant = { ...rest, bulkGrantId: "-f", state: "AWAITING_APPROVAL" };
    await reporter.send({ ...outcome, kind: "WAITING", bulkGrant: waiting, summary });
    expect(slack.messages[0]).toContain("`meguri bulk approve --program cafe -- -f`");
  });

  test("of a wait that begins says what approvers have to know, and the command", async () => {
    const { slack, reporter } = await started();
    const { result: _, ...rest } = bulkGrant;
    const checked = { invalidCount: 0, alreadyGrantedCount: 0, alreadyGrantedPoints: 0 };
    const waiting: BulkGrant = {
      ...{ ...rest, checked },
      bulkGrantId: "it's $(spring)",
      state: "AWAITING_APPROVAL",
      approvals: [],
    };
    await reporter.send({ ...outcome, kind: "WAITING", bulkGrant: waiting, summary });
    const [message = ""] = slack.messages;
    expect(message).toContain("*Bulk grant awaits approval*\n");
    expect(message).toContain(
      [
        ":warning: IDS_CHANGED: 6 user ids look changed by a spreadsheet program, such as " +
          "`=&lt;!here&gt;`; lines 2, 3, 4, 5, 6 and 1 more",
        ":warning: *WITHOUT_ACCOUNT: 2,001 of 10,000 users have no account, though the program " +
          "has many; lines 7, 8, 9, 10, 11 and 1,996 more*",
        ":warning: the title looks like that of `spr&lt;ing`, which is another one",
        ":warning: 9,900 of 10,000 users are in `winter` as well (DONE, " +
          "<!date^1795392000^{date_short_pretty} {time}|2026-11-23T00:00:00.000Z>), " +
          "9,800 with the same points",
        "Waits for 2 approvals until " +
          "<!date^1795651200^{date_short_pretty} {time}|2026-11-26T00:00:00.000Z>, by anybody " +
          "but aoi: `meguri bulk approve 'it'\\''s $(spring)' --program cafe`",
        `Digest: \`${waiting.revision.digest}\``,
        "Submitted by: aoi from nightly/rows.csv",
        "In all: 10,000 rows, 10,000 members, 1,000,000 points",
        "When: as soon as it is approved",
        "Approvals: 0 of 2",
        "Changes: 3 users added, 2 removed, 1 changed since revision 1, " +
          "which had 9,999 rows, 999,000 points",
        "Sheet: read as CSV in Windows-1252 with semicolons: user_id, points; " +
          "line 2: 100 points to `u&lt;1&gt;` for ‘café’",
        "Accounts: 12 users without one, 0 frozen",
        "<https://temporal.example/",
      ].join("\n"),
    );
    const executeTime = Date.UTC(2026, 10, 26);
    const later = { ...waiting, revision: { ...waiting.revision, executeTime } };
    await reporter.send({ ...outcome, kind: "WAITING", bulkGrant: later, summary });
    expect(slack.messages[1]).toContain("\nWhen: not before <!date^1795651200^{");
  });

  test("of stricter rules says how many approvals it needs now", async () => {
    const { slack, reporter } = await started();
    const { result: _, ...rest } = bulkGrant;
    const raised: BulkGrant = {
      ...{ ...rest, state: "AWAITING_APPROVAL", raisedApprovalCount: 3 },
      approvals: rest.approvals.slice(0, 1),
    };
    await reporter.send({ ...outcome, kind: "RAISED", bulkGrant: raised });
    expect(slack.messages[0]).toContain("*Bulk grant needs more approvals, because");
    expect(slack.messages[0]).toContain("Approvals: 1 of 3\n");
  });

  test.each([
    ["APPROVED", "APPROVED", "*Bulk grant is approved*"],
    ["ENDED", "REJECTED", "*Bulk grant is REJECTED*"],
  ] as const)("that is %s says how the wait has ended", async (kind, state, title) => {
    const { slack, reporter } = await started();
    const { result: _, ...rest } = bulkGrant;
    await reporter.send({ ...outcome, kind, bulkGrant: { ...rest, state } });
    expect(slack.messages[0]).toContain(title);
    expect(slack.messages[0]).not.toContain("meguri bulk approve");
  });

  test("escapes what people wrote, so that nobody is mentioned and no line is added", async () => {
    const { slack, reporter } = await started();
    const reason = "<!channel> a & b\nApproved by dan";
    await reporter.send({
      ...outcome,
      bulkGrant: { ...bulkGrant, approvals: [{ caller: asService("<@U1>"), time: 0, reason }] },
    });
    expect(slack.messages[0]).toContain(
      "Approved by: &lt;@U1&gt; (&lt;!channel&gt; a &amp; b Approved by dan) at ",
    );
    const revision = { ...bulkGrant.revision, source: "nightly/\u202evsc.swor\u2028x" };
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision } });
    expect(slack.messages[1]).toContain("\nSubmitted by: aoi from nightly/ vsc.swor x\n");
  });

  test("names who started the run of its source", async () => {
    const { slack, reporter } = await started();
    const starter = { service: "temporal", subject: "mei" };
    const revision = { ...bulkGrant.revision, starter };
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision } });
    expect(slack.messages[0]).toContain("\nStarted by: mei via temporal\n");
  });

  test("has the title", async () => {
    const { slack, reporter } = await started();
    const revision = { ...bulkGrant.revision, title: "20221101_キャンペーン1 <!here>" };
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision } });
    expect(slack.messages[0]).toContain("\nTitle: 20221101_キャンペーン1 &lt;!here&gt;\n");
  });

  test("of a sheet that was moved leads to where it is", async () => {
    const { slack, reporter } = await started();
    const movedTo = { name: "nightly/done/rows-2.csv", url: "https://drive.example/z" };
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, movedTo } });
    expect(slack.messages[0]).toContain(
      " · Source: <https://drive.example/z|nightly/done/rows-2.csv> · ",
    );
  });

  test("without an address of its source names the source", async () => {
    const { slack, reporter } = await started();
    const { sourceUrl: _, ...revision } = bulkGrant.revision;
    const failedRowsAt = { name: "nightly/failed/rows.errors.csv" };
    await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision, failedRowsAt } });
    expect(slack.messages[0]).toMatch(
      /\|Workflow> · Source: nightly\/rows\.csv · Not granted: nightly\/failed\/rows\.errors\.csv$/,
    );
  });
});

test("of a picked-up sheet without an address says to which folder it moves", async () => {
  const { slack, reporter } = await started();
  const { sourceUrl: url, ...rest } = bulkGrant.revision;
  const revision = { ...rest, source: "nightly/rows.csv#0123456789ab" };
  await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision, state: "INVALID" } });
  await reporter.send({ ...outcome, bulkGrant: { ...bulkGrant, revision } });
  const sourceUrl = url as string;
  await reporter.send({
    ...outcome,
    bulkGrant: { ...bulkGrant, revision: { ...revision, sourceUrl } },
  });
  expect(slack.messages[0]).toContain(" · Source: nightly/rows.csv, which moves to failed · ");
  expect(slack.messages[1]).toContain(" · Source: nightly/rows.csv, which moves to done · ");
  expect(slack.messages[2]).toContain("|nightly/rows.csv> · ");
});

test("without an address of the Web UI messages name workflows, and link nowhere", async () => {
  const { slack, reporter } = await started(noLinks);
  const { sourceUrl: _, ...revision } = bulkGrant.revision;
  const unmoved = { ...bulkGrant, revision, failedRowsAt: undefined };
  await reporter.send({ ...outcome, bulkGrant: unmoved });
  const pickUp = { programId: "cafe", sheets: [], moreCount: 1, workflowId: "pick-up/nightly-1" };
  await reporter.sendPickUp(pickUp);
  await reporter.send({ ...outcome, bulkGrant: { ...unmoved, state: "AWAITING_APPROVAL" } });
  expect(slack.messages.map((message) => message.split("\n").at(-1))).toEqual([
    "Workflow: `bulk-grant/cafe/spring` · Source: nightly/rows.csv",
    "Workflow: `pick-up/nightly-1`",
    "Workflow: `bulk-grant/cafe/spring` · Source: nightly/rows.csv",
  ]);
});

describe("a message about a pick-up", () => {
  const sheet = {
    source: "nightly/spring.csv#0123456789ab",
    reason: "WRONG_STATE",
    message: "spring has granted this sheet already",
    errorsAt: "nightly/failed/spring.errors.csv",
    movedTo: "https://drive.example/spring",
  };
  const report: PickUpReport = {
    programId: "cafe",
    sheets: [sheet],
    moreCount: 0,
    workflowId: "pick-up/nightly-1",
  };
  const workflow =
    "<https://temporal.example/namespaces/points%20prod/workflows/pick-up%2Fnightly-1|Workflow>";

  test("says why a sheet was refused, and leads to its errors and to where it is", async () => {
    const { slack, reporter } = await started();
    await reporter.sendPickUp(report);
    expect(slack.messages).toEqual([
      [
        "*A sheet was not picked up* for `cafe`",
        "`nightly/spring.csv`: WRONG_STATE (spring has granted this sheet already)" +
          " · Errors: nightly/failed/spring.errors.csv" +
          " · <https://drive.example/spring|Moved to>",
        workflow,
      ].join("\n"),
    ]);
  });

  test("counts the sheets that it does not name, and escapes what people wrote", async () => {
    const { slack, reporter } = await started();
    const stuck = {
      source: "nightly/<!here>\n.csv",
      reason: "NOT_MOVED",
      message: "x".repeat(999),
    };
    await reporter.sendPickUp({ ...report, sheets: [sheet, stuck], moreCount: 1_998 });
    const lines = (slack.messages[0] ?? "").split("\n");
    expect(lines[0]).toBe("*2,000 sheets were not picked up* for `cafe`");
    expect(lines.slice(2)).toEqual([
      `\`nightly/&lt;!here&gt; .csv\`: NOT_MOVED (${"x".repeat(300)}…) · still in its source`,
      "and 1,998 more",
      workflow,
    ]);
  });
});

describe.concurrent("sending", () => {
  test("retries what Slack has refused for now, and sends one message", async () => {
    const { slack, reporter } = await started();
    slack.failNext({ status: 429, body: "rate_limited" }, { status: 500 }, { status: 503 });
    await reporter.send(outcome);
    expect(slack.requestCount).toBe(4);
    expect(slack.messages).toHaveLength(1);
  });

  test("gives up after five answers that refuse it for now", async () => {
    const { slack, reporter } = await started();
    slack.failNext(...Array.from({ length: 9 }, () => ({ status: 503 })));
    const error = await failureOf(reporter);
    expect(error).not.toBeInstanceOf(ReportUncertain);
    expect(error.message).toBe("Slack answered 503: rollup_error");
    expect(slack.requestCount).toBe(5);
  });

  test.each([400, 403, 404, 410])("does not retry an answer %i", async (status) => {
    const { slack, reporter } = await started();
    slack.failNext({ status, body: "no_service" });
    const error = await failureOf(reporter);
    expect(error).not.toBeInstanceOf(ReportUncertain);
    expect(error.message).toBe(`Slack answered ${status}: no_service`);
    expect(slack.requestCount).toBe(1);
  });

  test.each(["RESET", "CUT_OFF", "SILENT"] as const)(
    "does not send again what may have been sent: %s",
    async (failure) => {
      const { slack, reporter } = await started();
      slack.failNext(failure);
      expect(await failureOf(reporter)).toBeInstanceOf(ReportUncertain);
      expect(slack.requestCount).toBe(1);
      expect(slack.messages).toHaveLength(1);
    },
  );

  test.each([502, 504])("does not send again after a gateway's answer %i", async (status) => {
    const { slack, reporter } = await started();
    slack.failNext({ status });
    expect(await failureOf(reporter)).toBeInstanceOf(ReportUncertain);
    expect(slack.requestCount).toBe(1);
  });

  test("retries without a connection, and never names the webhook's secret path", async () => {
    const { slack, reporter } = await started();
    await reporter.send(outcome);
    await slack.stop();
    const error = await failureOf(reporter);
    expect(error).not.toBeInstanceOf(ReportUncertain);
    expect(error.message).toBe("no connection to Slack: ECONNREFUSED");
    expect(String(error.stack)).not.toContain("/services/");
  });

  test("needs no webhook", async () => {
    await expect(noReporter.send(outcome)).resolves.toBeUndefined();
    const pickUp = { programId: "cafe", sheets: [], moreCount: 0, workflowId: "pick-up" };
    await expect(noReporter.sendPickUp(pickUp)).resolves.toBeUndefined();
  });
});

const failureOf = (reporter: Reporter): Promise<Error> =>
  reporter.send(outcome).then(
    () => expect.fail("was sent"),
    (error: Error) => error,
  );

const epoch = "<!date^0^{date_short_pretty} {time}|1970-01-01T00:00:00.000Z>";

const summary: BulkGrantSummary = {
  rowCount: 10_000,
  reading: {
    format: "CSV",
    encoding: "windows-1252",
    separator: ";",
    columns: ["user_id", "points"].map((name) => ({ name, readAs: name })),
    skippedZeroCount: 0,
    sample: { line: 2, userId: "u<1>", points: 100, reason: "café" },
  },
  minPoints: 1,
  medianPoints: 100,
  maxPoints: 500,
  reasons: [],
  largestRows: [
    { userId: "u<1>", points: 500 },
    { userId: "u2", points: 400 },
    { userId: "u3", points: 300 },
    { userId: "u4", points: 200 },
  ],
  histogram: [],
  withoutAccountCount: 12,
  frozenCount: 0,
  difference: {
    addedCount: 3,
    removedCount: 2,
    changedCount: 1,
    rowCountBefore: 9_999,
    pointsBefore: 999_000,
  },
  comparedCount: 2,
  overlaps: [
    {
      bulkGrantId: "winter",
      state: "DONE",
      time: Date.UTC(2026, 10, 23),
      sameUserCount: 9_900,
      samePointsCount: 9_800,
    },
    { bulkGrantId: "autumn", state: "DONE", time: 0, sameUserCount: 999, samePointsCount: 999 },
  ],
  lookAlikes: ["spr<ing"],
  warnings: [
    { code: "IDS_CHANGED", rowCount: 6, lines: [2, 3, 4, 5, 6], detail: "=<!here>" },
    { code: "WITHOUT_ACCOUNT", rowCount: 2_001, lines: [7, 8, 9, 10, 11], detail: "10000" },
  ],
};

const bulkGrant: BulkGrant = {
  programId: "cafe",
  bulkGrantId: "spring",
  state: "DONE_WITH_FAILURES",
  revision: {
    number: 2,
    uploadId: "u",
    rowCount: 10_000,
    totalPoints: 1_000_000,
    rowsDigest: "r",
    digest: "d",
    requiredApprovalCount: 2,
    submitter: asService("aoi"),
    submitTime: 0,
    source: "nightly/rows.csv",
    sourceUrl: "https://drive.example/x?a=1&b=|2",
  },
  createTime: 0,
  updateTime: 0,
  checked: { invalidCount: 0, alreadyGrantedCount: 12, alreadyGrantedPoints: 1_200 },
  approvals: [
    { caller: asService("ben"), time: 0, reason: "checked the sums" },
    { caller: asService("chie"), time: 0, reason: "" },
  ],
  remindTime: 0,
  expireTime: Date.UTC(2026, 10, 26),
  run: 1,
  result: {
    grantedCount: 9_700,
    grantedPoints: 970_000,
    failedCount: 288,
    notRunCount: 0,
    problemCounts: { INTERNAL: 88, ACCOUNT_FROZEN: 200 },
  },
  failedRowsAt: { name: "drive/failed/rows.errors.csv", url: "https://drive.example/y" },
  actions: [],
  actionCount: 0,
};

const outcome: BulkGrantReport = {
  kind: "OUTCOME",
  bulkGrant,
  workflowId: bulkGrantWorkflowId("cafe", "spring"),
};
