/** Writes in Slack's mrkdwn what approvers have to know of a bulk grant that awaits approval. */

import { nounFor, quantity } from "../../platform/words/quantities.ts";
import { type BulkGrant, neededApprovals } from "../rules/bulk-grant.ts";
import {
  type BulkGrantSummary,
  type Overlap,
  type RevisionDifference,
  warnedOverlaps,
} from "../rules/bulk-grant-summary.ts";
import { dateOf, escaped, points } from "./mrkdwn.ts";

/** The largest rows that a message names. */
const largestShown = 3;

/** The warnings, the largest rows, the accounts, and what a next revision changes. */
export function summaryLines(summary: BulkGrantSummary, revision: number): string[] {
  const { largestRows, difference, withoutAccountCount, frozenCount } = summary;
  const largest = largestRows
    .slice(0, largestShown)
    .map((row) => `\`${escaped(row.userId)}\` ${points(row.points)}`);
  const accounts = [
    ...(withoutAccountCount > 0 ? [`${count(withoutAccountCount)} without an account`] : []),
    ...(frozenCount > 0 ? [`${count(frozenCount)} frozen`] : []),
  ];
  return [
    ...(summary.lookAlikes ?? []).map(
      (id) => `:warning: The title looks like that of \`${escaped(id)}\`, which is another one`,
    ),
    ...warnedOverlaps(summary).map((overlap) => warning(overlap, summary.rowCount)),
    ...(largest.length > 0 ? [`Largest: ${largest.join(", ")}`] : []),
    ...(accounts.length > 0 ? [`Users: ${accounts.join(", ")}`] : []),
    ...(difference ? [differenceLine(difference, revision)] : []),
  ];
}

function differenceLine(difference: RevisionDifference, revision: number): string {
  const { addedCount, removedCount, changedCount, pointsBefore } = difference;
  return (
    `Replaces revision ${revision - 1}: ${quantity(addedCount, "user")} added, ` +
    `${count(removedCount)} removed, ${count(changedCount)} changed; it had ${points(pointsBefore)}`
  );
}

function warning(overlap: Overlap, rowCount: number): string {
  const { bulkGrantId, sameUserCount, samePointsCount, state, time } = overlap;
  return (
    `:warning: ${count(sameUserCount)} of ${quantity(rowCount, "user")} ` +
    `${nounFor(sameUserCount, "is", "are")} in \`${escaped(bulkGrantId)}\` as well ` +
    `(${state}, ${dateOf(time)}), ` +
    `${count(samePointsCount)} with the same points`
  );
}

/** The approvals that are missing, and how to give one. */
export function waitLines(record: BulkGrant): string[] {
  const { programId, bulkGrantId, approvals, revision } = record;
  const command = `meguri bulk approve ${shellWord(bulkGrantId)} --program ${programId}`;
  return [
    `${approvals.length} of ${quantity(neededApprovals(record), "approval")}; ` +
      `expires ${dateOf(record.expireTime)}`,
    `Digest: \`${revision.digest}\``,
    `Approve: \`${escaped(command)}\``,
  ];
}

const count = (value: number): string => value.toLocaleString("en-US");

/** An id as one word of a shell: it may have characters by which the shell would run something. */
const shellWord = (id: string): string =>
  /^[\w./:@%+=][\w./:@%+=-]*$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`;
