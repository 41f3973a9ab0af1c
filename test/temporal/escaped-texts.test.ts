/** Tests that summaries and details of runs show what callers wrote as it is, not as Markdown. */
import type { WorkflowStartOptions } from "@temporalio/client";
import { expect, test } from "vitest";
import { toView } from "../../activities/bulk-grants/bulk-grant-view.ts";
import { createBulkGrantRuns } from "../../src/bulk-grants/temporal/bulk-grants.ts";
import { createPurges } from "../../src/feed/temporal/purges.ts";
import type { Link } from "../../src/platform/temporal/connection.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { createReservationRuns } from "../../src/reservations/temporal/reservations.ts";
import { showDetails } from "../../workflows/reservations/reservation-view.ts";

const id = "[pay](http://evil.test)";
const reason = "<img src=x> **done**";
const escapedId = "\\[pay\\](http\\://evil.test)";
const escapedReason = "\\<img src=x\\> \\*\\*done\\*\\*";

/** A link that keeps the options of the last start. */
function recordingLink(): { link: Link; started: () => WorkflowStartOptions } {
  let last: WorkflowStartOptions | undefined;
  const start = async (_: unknown, options: WorkflowStartOptions) => {
    last = options;
  };
  const link = { client: { workflow: { start } }, call: (run: () => unknown) => run() };
  return { link: link as unknown as Link, started: () => last as WorkflowStartOptions };
}

const submitter = { service: "desk", subject: `*${id}*` };
const shownSubmitter = `\\*${escapedId}\\* via desk`;

const bulkGrant = {
  ...{ programId: "default", bulkGrantId: id, state: "AWAITING_APPROVAL", run: 0, approvals: [] },
  ...{ expireTime: 0, actions: [] },
  revision: {
    ...{ number: 1, digest: "d", title: reason, totalPoints: 1, rowCount: 1, submitter },
    requiredApprovalCount: 1,
  },
};

test("of a reservation", async () => {
  const { link, started } = recordingLink();
  const reservation = {
    ...{ programId: "default", reservationId: id, userId: id, points: 5, reason },
    ...{ cause: id, creator: submitter, executeTime: 0 },
  };
  await createReservationRuns(link).startReservation(reservation as never, "UTC", 0);
  const { args = [], staticSummary } = started();
  expect(staticSummary).toContain(`5 points for ${escapedId}, reserved for 1970`);
  let details = "";
  const run = {
    showDetails: (text: string, more: readonly string[]) => {
      details = [text, ...more].join("\n");
    },
  };
  const time = "2026-12-01T00:00:00Z";
  showDetails(run as never, args[0], { step: "WAIT", execute_time: time }, time);
  expect(details).toContain(`5 points for ${escapedId}. Waits`);
  expect(details).toContain(`- reason: ${escapedReason}\n`);
  expect(details).toContain(`- cause: ${escapedId}\n`);
  expect(details).toContain(`- reserved by: ${shownSubmitter}\n`);
});

test("of a bulk grant, and its current details", async () => {
  const { link, started } = recordingLink();
  await createBulkGrantRuns(link).startBulkGrant(bulkGrant as never);
  expect(started().staticSummary).toBe(`${escapedReason}: grant 1 point in 1 row`);
  const cancelled = {
    ...bulkGrant,
    state: "CANCELLED",
    actions: [{ action: "CANCEL", caller: asService("desk"), reason }],
  };
  const summary = {
    largestRows: [{ userId: id, points: 5 }],
    ...{ minPoints: 5, medianPoints: 5, maxPoints: 5, histogram: [] },
    reasons: [{ reason, rowCount: 1, points: 5 }],
    overlaps: [{ bulkGrantId: id, state: "DONE", time: 0, sameUserCount: 1, samePointsCount: 1 }],
    lookAlikes: [id],
    ...{ rowCount: 1, comparedCount: 1 },
    withoutAccountCount: 0,
    frozenCount: 0,
  };
  const view = toView({ bulkGrant: cancelled, step: "END" } as never, {
    counts: undefined,
    failedLines: [],
    summary: summary as never,
    pointsExpireTime: undefined,
    invalidCounts: {},
    timeZone: "UTC",
  });
  expect(view.details).toContain(`Cancelled by desk (${escapedReason}).`);
  const facts = view.facts.join("\n");
  expect(facts).toContain(`1 of 1 user is in \`${id}\` as well (DONE, 1970-01-01T00:00:00+00:00)`);
  expect(facts).toContain(
    `- **warning**: the title looks like that of \`${id}\`, which is another`,
  );
  expect(facts).toContain(`- title: ${escapedReason}\n`);
  expect(facts).toContain(`- reason: ${escapedReason}: 1 row, 5 points`);
  expect(facts).toContain(`- largest rows: \`${id}\` 5`);
});

test("of the purge of a target", async () => {
  const { link, started } = recordingLink();
  await createPurges(link).startPurge({ type: "post", id }, id);
  const { staticSummary, staticDetails } = started();
  expect(staticSummary).toBe(`purge reactions to the deleted post ${escapedId}`);
  expect(staticDetails).toContain(`\n\n- target: post ${escapedId}\n- owner: ${escapedId}`);
});
