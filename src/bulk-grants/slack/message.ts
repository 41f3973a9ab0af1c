/** Writes the report of a bulk grant in Slack's mrkdwn. */

import { displayCaller } from "../../platform/words/caller.ts";
import { withoutVersion } from "../../platform/words/source-string.ts";
import type { BulkGrantReport } from "../ports/bulk-grants.ts";
import type { Action, BulkGrant, RunCounts } from "../rules/bulk-grant.ts";
import { summaryLines, waitLines } from "./approval-lines.ts";
import { dateOf, escaped, link, points, rows, who } from "./mrkdwn.ts";

/** Returns the text of the report. Every value in it is escaped, so that none is a command. */
export function messageOf(report: BulkGrantReport, workflowUrl: string): string {
  const { bulkGrant } = report;
  const { revision, result } = bulkGrant;
  const reversed = revision.reversedBulkGrantId;
  return [
    `*${titleOf(report)}*`,
    (revision.title ? `${escaped(revision.title)}: ` : "") +
      `\`${escaped(bulkGrant.bulkGrantId)}\` of \`${escaped(bulkGrant.programId)}\`, ` +
      `revision ${revision.number}` +
      (reversed ? `, reverses \`${escaped(reversed)}\`` : "") +
      (revision.cause ? `, for \`${escaped(revision.cause)}\`` : ""),
    `${rows(revision.rowCount)}, ${points(revision.totalPoints)}`,
    ...checkLines(bulkGrant),
    ...(result ? runLines(result, reversed !== undefined) : []),
    ...finalLines(bulkGrant),
    ...(report.summary ? summaryLines(report.summary, revision.number) : []),
    ...peopleLines(bulkGrant),
    ...(bulkGrant.state === "AWAITING_APPROVAL" ? waitLines(bulkGrant) : []),
    linksLine(report, workflowUrl),
  ].join("\n");
}

function titleOf({ kind, bulkGrant: { state, revision } }: BulkGrantReport): string {
  const what = revision.reversedBulkGrantId === undefined ? "Bulk grant" : "Reversal";
  switch (kind) {
    case "WAITING":
      return `${what} awaits approval`;
    case "REMINDER":
      return `${what} still awaits approval`;
    case "RAISED":
      return `${what} needs more approvals, because the rules are stricter now`;
    case "APPROVED":
      return `${what} is approved`;
    default:
      return `${what} is ${state}`;
  }
}

function checkLines({ checked, revision }: BulkGrant): string[] {
  const { alreadyGrantedCount = 0, alreadyGrantedPoints = 0, invalidCount = 0 } = checked ?? {};
  const { exceededMaxTotalPoints: cap, sameContentBulkGrantId } = revision;
  return [
    ...(invalidCount > 0 ? [`Invalid: ${rows(invalidCount)}`] : []),
    ...(cap === undefined ? [] : [`Above the program's cap of ${points(cap)}`]),
    ...(alreadyGrantedCount > 0
      ? [`Granted before: ${rows(alreadyGrantedCount)}, ${points(alreadyGrantedPoints)}`]
      : []),
    ...(sameContentBulkGrantId ? [`The same rows as \`${escaped(sameContentBulkGrantId)}\``] : []),
  ];
}

function runLines(result: RunCounts, isReversal: boolean): string[] {
  const codes = Object.entries(result.problemCounts)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${count.toLocaleString("en-US")}`);
  const verb = isReversal ? "Revoked" : "Granted";
  return [
    `${verb}: ${rows(result.grantedCount)}, ${points(result.grantedPoints)}`,
    ...(result.failedCount > 0
      ? [`Failed: ${rows(result.failedCount)} (${codes.join(", ")})`]
      : []),
    ...(result.notRunCount > 0 ? [`Not executed: ${rows(result.notRunCount)}`] : []),
  ];
}

/** Says until when the counts of a cancelled run may change. */
function finalLines({ countsFinalTime }: BulkGrant): string[] {
  if (countsFinalTime === undefined) return [];
  return [`The counts are final at ${dateOf(countsFinalTime)}; a row may be granted until then`];
}

/** The actions that end a bulk grant. */
const endings = { REJECT: "Rejected", CANCEL: "Cancelled", EXPIRE: "Expired" } as const;

/** Names the submitter, the approvers, and the person that ended this revision early. */
function peopleLines({ revision, approvals, actions }: BulkGrant): string[] {
  const ended = actions.findLast(
    ({ action, revision: number }) => action in endings && number === revision.number,
  );
  return [
    `Submitted by ${escaped(displayCaller(revision.submitter))}` +
      (revision.starter ? `, started by ${escaped(displayCaller(revision.starter))}` : ""),
    ...approvals.map((approval) => `Approved by ${who(approval)}`),
    ...(ended ? [endingLine(ended)] : []),
  ];
}

const endingLine = ({ action, ...approval }: Action): string =>
  `${endings[action as keyof typeof endings]} by ${who(approval)}`;

function linksLine({ bulkGrant }: BulkGrantReport, workflowUrl: string): string {
  const { movedTo, failedRowsAt } = bulkGrant;
  const { name, url } = movedTo ?? sourceAddress(bulkGrant);
  return [
    link(workflowUrl, "Workflow"),
    ...(name === undefined ? [] : [place("Source", name, url)]),
    ...(failedRowsAt ? [place("Not granted", failedRowsAt.name, failedRowsAt.url)] : []),
  ].join(" · ");
}

/**
 * Where a sheet is that no pick-up has moved. One with a version is about to be moved: a path would
 * lead to nothing soon, while an address stays the same.
 */
function sourceAddress({ state, revision: { source, sourceUrl: url } }: BulkGrant) {
  const name = source && withoutVersion(source);
  if (name === source || url !== undefined) return { name, url };
  return { name: `${name}, which moves to ${state === "INVALID" ? "failed" : "done"}`, url };
}

/** Names a file or a tab. If it has an address, the name is a link. */
const place = (what: string, name: string, url: string | undefined): string =>
  `${what}: ${url === undefined ? escaped(name) : link(url, name)}`;
