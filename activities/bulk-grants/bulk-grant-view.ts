/** Shows the record of a bulk grant to its workflow and to the operators who read that. */

import type {
  BulkGrantCounts,
  BulkGrantStatus,
  BulkGrantView,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import {
  type Action,
  type BulkGrant,
  dueAnnouncement,
  neededApprovals,
  type RunCounts,
  type SheetAddress,
} from "../../src/bulk-grants/rules/bulk-grant.ts";
import {
  type BulkGrantSummary,
  type Overlap,
  type ReasonTotal,
  warnedOverlaps,
} from "../../src/bulk-grants/rules/bulk-grant-summary.ts";
import { rowsPerBlock } from "../../src/bulk-grants/rules/sheet.ts";
import type { Advanced } from "../../src/bulk-grants/use-cases/advance.ts";
import type { FailedLine, ProblemCounts } from "../../src/bulk-grants/use-cases/first-failures.ts";
import { displayCaller } from "../../src/platform/words/caller.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { formatInstant, formatMonth, type Instant } from "../../src/platform/words/month.ts";
import { quantity } from "../../src/platform/words/quantities.ts";

/** The values that are read beside the record. */
interface Beside {
  /** Of the run so far; undefined before the first one. */
  readonly counts: RunCounts | undefined;
  readonly failedLines: readonly FailedLine[];
  readonly summary: BulkGrantSummary | undefined;
  /** When the points expire, if they are granted now or at the execute time; beside a summary. */
  readonly pointsExpireTime: Instant | undefined;
  /** The invalid rows by their codes, in INVALID. */
  readonly invalidCounts: ProblemCounts;
  readonly timeZone: string;
}

export function toView(
  { bulkGrant, step, waitMs }: Advanced,
  { counts, failedLines, summary, pointsExpireTime, invalidCounts, timeZone }: Beside,
): BulkGrantView {
  const announcement = dueAnnouncement(bulkGrant);
  const { programId, bulkGrantId, state, revision, approvals, run } = bulkGrant;
  const { failedRowsAt, countsFinalTime } = bulkGrant;
  const { executeTime, starter, title, cause, source } = revision;
  return {
    program_id: programId,
    bulk_grant_id: bulkGrantId,
    step,
    state,
    revision: revision.number,
    digest: revision.digest,
    run,
    block_count: Math.ceil(revision.rowCount / rowsPerBlock),
    row_count: revision.rowCount,
    total_points: revision.totalPoints,
    submitter: revision.submitter,
    starter,
    title,
    cause,
    source,
    failed_rows_at: failedRowsAt && addressOf(failedRowsAt),
    execute_time: executeTime === undefined ? undefined : formatInstant(executeTime, timeZone),
    required_approval_count: neededApprovals(bulkGrant),
    approvals: approvals.map(({ caller, time, reason }) => ({
      caller,
      time: formatInstant(time, timeZone),
      reason,
    })),
    counts: toCounts(bulkGrant, counts, invalidCounts),
    counts_final_time:
      countsFinalTime === undefined ? undefined : formatInstant(countsFinalTime, timeZone),
    failed_rows: failedLines.length > 0 ? failedLines : undefined,
    details: detailsOf(bulkGrant, timeZone),
    summary: summary && summaryLines(summary, pointsExpireTime, timeZone),
    announcement,
    wait_ms: waitMs,
  };
}

/** Warnings, points, reasons, accounts, the expiry and changes, in lines of Markdown. */
function summaryLines(
  summary: BulkGrantSummary,
  pointsExpireTime: Instant | undefined,
  timeZone: string,
): string[] {
  const { minPoints, medianPoints, maxPoints, largestRows, histogram, difference } = summary;
  const largest = largestRows.map(({ userId, points }) => `${userId} ${number(points)}`);
  const ranges = histogram.map(
    (range) =>
      `${quantity(range.rowCount, "row")} of ${number(range.minPoints)} ` +
      `to ${number(range.maxPoints)}`,
  );
  return [
    ...(summary.lookAlikes ?? []).map(
      (id) =>
        `**warning**: the title looks like that of ${escapeMarkdown(id)}, which is another one`,
    ),
    ...warnedOverlaps(summary).map((overlap) => warning(overlap, summary.rowCount, timeZone)),
    `points of a row: ${number(minPoints)} to ${number(maxPoints)}, ` +
      `median ${number(medianPoints)}; largest: ${escapeMarkdown(largest.join(", "))}`,
    `rows by their points: ${ranges.join(", ")}`,
    ...reasonLines(summary),
    `accounts: ${quantity(summary.withoutAccountCount, "user")} without one, ` +
      `${number(summary.frozenCount)} frozen`,
    ...(pointsExpireTime === undefined
      ? []
      : [`the points expire at ${formatInstant(pointsExpireTime, timeZone)}`]),
    ...monthLines(summary),
    ...(difference
      ? [
          `since the revision before: ${quantity(difference.addedCount, "user")} added, ` +
            `${number(difference.removedCount)} removed, ` +
            `${number(difference.changedCount)} changed`,
        ]
      : []),
  ];
}

const warning = (overlap: Overlap, rowCount: number, timeZone: string): string =>
  `**warning**: ${number(overlap.sameUserCount)} of ${quantity(rowCount, "user")} also in ` +
  `${escapeMarkdown(overlap.bulkGrantId)} (${overlap.state}, ` +
  `${formatInstant(overlap.time, timeZone)}), ` +
  `${number(overlap.samePointsCount)} with the same points`;

const sum = (of: Pick<ReasonTotal, "rowCount" | "points">) =>
  `${quantity(of.rowCount, "row")}, ${quantity(of.points, "point")}`;

/** The rows and points by their month of expiry, if any have one. */
const monthLines = ({ expireMonths = [] }: BulkGrantSummary): string[] =>
  expireMonths.map(({ expireMonth, ...of }) =>
    expireMonth === undefined
      ? `points that last for the whole lifetime: ${sum(of)}`
      : `points that expire at the end of ${formatMonth(expireMonth)}: ${sum(of)}`,
  );

/** The rows and points of the reasons with the most points, and of all others. */
function reasonLines({ reasons, otherReasons }: BulkGrantSummary): string[] {
  return [
    ...reasons.map((of) => `reason ${escapeMarkdown(of.reason) || "(none)"}: ${sum(of)}`),
    ...(otherReasons
      ? [`${quantity(otherReasons.reasonCount, "other reason")}: ${sum(otherReasons)}`]
      : []),
  ];
}

const number = (value: number) => value.toLocaleString("en");

/** Where people find a file or a tab: its address, or else its name. */
export const addressOf = ({ name, url }: SheetAddress): string => url ?? name;

export const toCounts = (
  { checked }: BulkGrant,
  counts: RunCounts | undefined,
  invalidCounts: ProblemCounts = {},
): BulkGrantCounts => ({
  granted_count: counts?.grantedCount ?? 0,
  granted_points: counts?.grantedPoints ?? 0,
  already_granted_count: checked?.alreadyGrantedCount ?? 0,
  failed_count: counts?.failedCount ?? 0,
  invalid_count: checked?.invalidCount ?? 0,
  not_run_count: counts?.notRunCount ?? 0,
  problem_counts: counts?.problemCounts ?? invalidCounts,
});

export const toStatus = ({ state, revision, approvals }: BulkGrant): BulkGrantStatus => ({
  state,
  revision: revision.number,
  digest: revision.digest,
  approvers: approvals.map(({ caller }) => caller),
});

/** The current wait or the last action, and what people can do now, as Markdown. */
function detailsOf(bulkGrant: BulkGrant, timeZone: string): string {
  const { state, revision, approvals, pause, cancelRequest } = bulkGrant;
  const at = (time: number) => formatInstant(time, timeZone);
  switch (state) {
    case "VALIDATING":
      return "The rows are being checked.";
    case "INVALID":
      return (
        `${invalidityOf(bulkGrant)} A corrected sheet can be submitted under the same id.` +
        failedRowsOf(bulkGrant)
      );
    case "AWAITING_APPROVAL": {
      const missing = neededApprovals(bulkGrant) - approvals.length;
      return (
        `Waits for ${missing} ${missing === 1 ? "approval" : "approvals"} until ` +
        `${at(bulkGrant.expireTime)}: ApproveBulkGrant, with the digest.`
      );
    }
    case "APPROVED":
      if (pause) return `Paused ${byOf(pause)}.`;
      return revision.executeTime === undefined
        ? "Approved, and about to start."
        : `Approved, and starts at ${at(revision.executeTime)}.`;
    case "RUNNING":
      if (cancelRequest)
        return `Cancelled ${byOf(cancelRequest)}; ends when the rows under way are counted.`;
      return pause ? `Paused ${byOf(pause)}.` : runOf(bulkGrant, at);
    default:
      return endOf(bulkGrant, at);
  }
}

/** Of a retry, the record has no start. */
const runOf = ({ run, startTime }: BulkGrant, at: (time: Instant) => string): string =>
  `Run ${run} executes the rows` +
  (run === 1 && startTime !== undefined ? ` since ${at(startTime)}.` : ".");

function endOf(bulkGrant: BulkGrant, at: (time: Instant) => string): string {
  const last = bulkGrant.actions.at(-1);
  const by = last ? ` ${byOf(last)}` : "";
  const notSent = bulkGrant.report === "FAILED" ? " The report could not be sent." : "";
  const more = failedRowsOf(bulkGrant) + notSent;
  switch (bulkGrant.state) {
    case "REJECTED":
      return `Rejected${by}.`;
    case "CANCELLED":
      return `Cancelled${by}.${countsFinalOf(bulkGrant, at)}${more}`;
    case "DONE_WITH_FAILURES":
      return (
        "Done, and some rows failed. RetryBulkGrant runs them again; ExportFailedBulkGrantRows " +
        `gives them as a sheet, which can be corrected and submitted under the same id.${more}`
      );
    default:
      return `Done: each row was granted.${more}`;
  }
}

const countsFinalOf = ({ countsFinalTime }: BulkGrant, at: (time: Instant) => string): string =>
  countsFinalTime === undefined
    ? ""
    : ` The counts are final at ${at(countsFinalTime)}: until then a row that was under way may ` +
      "still be granted.";

const failedRowsOf = ({ failedRowsAt: place }: BulkGrant): string =>
  place ? ` The rows that were not granted are in ${escapeMarkdown(addressOf(place))}.` : "";

const invalidityOf = ({ checked, revision: { exceededMaxTotalPoints } }: BulkGrant): string =>
  [
    checked && checked.invalidCount > 0 && invalidText(checked.invalidCount),
    exceededMaxTotalPoints !== undefined &&
      `The program allows at most ${quantity(exceededMaxTotalPoints, "point")} in all.`,
  ]
    .filter(Boolean)
    .join(" ");

const invalidText = (count: number) =>
  `${quantity(count, "row")} ${count === 1 ? "is" : "are"} invalid.`;

const byOf = ({ caller, reason }: Action): string =>
  escapeMarkdown(`by ${displayCaller(caller)}${reason === "" ? "" : ` (${reason})`}`);
