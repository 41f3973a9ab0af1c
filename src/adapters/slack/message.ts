/** Writes the report of a bulk grant in Slack's mrkdwn. */
import type { BulkGrantReport } from "../../app/ports/bulk-grants.ts";
import type { Action, Approval, BulkGrant, RunCounts } from "../../domain/bulk-grant.ts";
import { displayCaller } from "../../domain/caller.ts";
import type { Instant } from "../../domain/month.ts";

/** Returns the text of the report. Every value in it is escaped, so that none is a command. */
export function messageOf(report: BulkGrantReport, workflowUrl: string): string {
  const { bulkGrant } = report;
  const { revision, result } = bulkGrant;
  const reversed = revision.reversedBulkGrantId;
  return [
    `*${titleOf(report)}*`,
    `\`${escaped(bulkGrant.bulkGrantId)}\` of \`${escaped(bulkGrant.programId)}\`, ` +
      `revision ${revision.number}` +
      (reversed ? `, reverses \`${escaped(reversed)}\`` : ""),
    `${rows(revision.rowCount)}, ${points(revision.totalPoints)}`,
    ...checkLines(bulkGrant),
    ...(result ? runLines(result, reversed !== undefined) : []),
    ...(report.kind === "REMINDER" ? [deadlineLine(bulkGrant)] : []),
    ...peopleLines(bulkGrant),
    linksLine(report, workflowUrl),
  ].join("\n");
}

function titleOf({ kind, bulkGrant: { state, revision } }: BulkGrantReport): string {
  const what = revision.reversedBulkGrantId === undefined ? "Bulk grant" : "Reversal";
  return kind === "REMINDER" ? `${what} awaits approval` : `${what} is ${state}`;
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

function deadlineLine({ approvals, revision, expireTime }: BulkGrant): string {
  const { requiredApprovalCount } = revision;
  return `${approvals.length} of ${requiredApprovalCount} approvals; expires ${dateOf(expireTime)}`;
}

/** The actions that end a bulk grant. */
const endings = { REJECT: "Rejected", CANCEL: "Cancelled", EXPIRE: "Expired" } as const;

/** Names the submitter, the approvers, and the person that ended this revision early. */
function peopleLines({ revision, approvals, actions }: BulkGrant): string[] {
  const ended = actions.findLast(
    ({ action, revision: number }) => action in endings && number === revision.number,
  );
  return [
    `Submitted by ${escaped(displayCaller(revision.submitter))}`,
    ...approvals.map((approval) => `Approved by ${who(approval)}`),
    ...(ended ? [endingLine(ended)] : []),
  ];
}

const endingLine = ({ action, ...approval }: Action): string =>
  `${endings[action as keyof typeof endings]} by ${who(approval)}`;

/** Who did something and, if there is a reason, why. */
const who = ({ caller, reason }: Approval): string =>
  `${escaped(displayCaller(caller))}${reason ? `: ${escaped(reason)}` : ""}`;

function linksLine({ bulkGrant, sourceUrl }: BulkGrantReport, workflowUrl: string): string {
  const { source } = bulkGrant.revision;
  const links = [link(workflowUrl, "Workflow")];
  if (sourceUrl) links.push(link(sourceUrl, source ?? "Source"));
  else if (source) links.push(`Source: ${escaped(source)}`);
  return links.join(" · ");
}

const rows = (count: number): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? "row" : "rows"}`;

const points = (count: number): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? "point" : "points"}`;

/** Slack shows the time in each reader's zone. */
function dateOf(time: Instant): string {
  const utc = new Date(time).toISOString();
  return `<!date^${Math.floor(time / 1_000)}^{date_short_pretty} {time}|${utc}>`;
}

/** A bar ends the address and begins the text. */
const link = (url: string, text: string): string =>
  `<${escaped(url).replaceAll("|", "%7C")}|${escaped(text)}>`;

/**
 * Replaces the three characters that Slack reads as commands, and control characters: with a line
 * break, a reason could pass for another line of the report.
 */
const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/\p{Cc}+/gu, " ");
