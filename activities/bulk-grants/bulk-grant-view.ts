/** Shows the record of a bulk grant to its workflow and to the operators who read that. */

import type {
  BulkGrantCounts,
  BulkGrantStatus,
  BulkGrantView,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import {
  actorsOf,
  type BulkGrant,
  dueAnnouncement,
  type RunCounts,
} from "../../src/bulk-grants/rules/bulk-grant.ts";
import type { BulkGrantSummary } from "../../src/bulk-grants/rules/bulk-grant-summary.ts";
import {
  addressOf,
  codesText,
  countsText,
  detailsOf,
  factsOf,
  type TextLine,
} from "../../src/bulk-grants/rules/bulk-grant-text.ts";
import { rowsPerBlock } from "../../src/bulk-grants/rules/sheet.ts";
import { summaryText } from "../../src/bulk-grants/rules/summary-text.ts";
import type { Advanced } from "../../src/bulk-grants/use-cases/advance.ts";
import type { FailedLine, ProblemCounts } from "../../src/bulk-grants/use-cases/first-failures.ts";
import { formatInstant, type Instant } from "../../src/platform/words/month.ts";
import { markdown } from "../../src/platform/words/text-style.ts";

/** What has become of the rows. */
export interface RowsSoFar {
  /** Of the run so far; undefined before the first one. */
  readonly counts: RunCounts | undefined;
  readonly failedLines: readonly FailedLine[];
  /** The invalid rows by their codes, in INVALID. */
  readonly invalidCounts: ProblemCounts;
}

/** The values that are read beside the record. */
interface Beside extends RowsSoFar {
  readonly summary: BulkGrantSummary | undefined;
  /** When the points expire, if they are granted now or at the execute time; beside a summary. */
  readonly pointsExpireTime: Instant | undefined;
  readonly timeZone: string;
}

export function toView({ bulkGrant, step, waitMs }: Advanced, beside: Beside): BulkGrantView {
  const { programId, bulkGrantId, state, revision, run, failedRowsAt } = bulkGrant;
  const { summary, pointsExpireTime: expireTime, timeZone } = beside;
  const style = markdown(timeZone);
  const isRequest = revision.request !== undefined;
  const text =
    summary && summaryText({ summary, revision: revision.number, isRequest, expireTime }, style);
  const timeOf = (time: Instant | undefined) =>
    time === undefined ? undefined : formatInstant(time, timeZone);
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
    actors: actorsOf(bulkGrant),
    source: revision.source,
    failed_rows_at: failedRowsAt && addressOf(failedRowsAt),
    execute_time: timeOf(revision.executeTime),
    counts: toCounts(bulkGrant, beside),
    counts_final_time: timeOf(bulkGrant.countsFinalTime),
    details: detailsOf(bulkGrant, style).join("\n\n"),
    facts: [
      ...(text?.warnings ?? []).map((warning) => `- **warning**: ${warning}`),
      ...factsOf(bulkGrant, style).map(lineOf),
      ...(text?.lines ?? []).map(lineOf),
    ],
    rows: rowLines(bulkGrant, beside),
    announcement: dueAnnouncement(bulkGrant),
    wait_ms: waitMs,
  };
}

const lineOf = ({ name, text }: TextLine): string => `- ${name}: ${text}`;

/** What has become of the rows, as Markdown. The first are named by line: a user is personal. */
export function rowLines(
  { revision, checked }: BulkGrant,
  { counts, failedLines, invalidCounts }: RowsSoFar,
): string[] {
  const more = (counts?.failedCount ?? 0) + (checked?.invalidCount ?? 0) - failedLines.length;
  const codes = codesText(invalidCounts);
  return [
    ...countsText(counts, revision).map(lineOf),
    ...(codes === "" ? [] : [`- invalid: ${codes}`]),
    ...(failedLines.length > 0 ? ["- first of the rows that cannot be granted:"] : []),
    ...failedLines.map(({ line, codes }) => `  - line ${line}: ${codes.join(", ")}`),
    ...(failedLines.length > 0 && more > 0 ? [`  - and ${more.toLocaleString("en")} more`] : []),
  ];
}

export const toCounts = (
  { checked }: BulkGrant,
  { counts, invalidCounts }: RowsSoFar,
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
