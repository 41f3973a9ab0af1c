/** Writes the report of a bulk grant in Slack's mrkdwn. */
import type { BulkGrantReport } from "../../app/ports/bulk-grants.ts";
import type { Action, BulkGrant, RunCounts } from "../../domain/bulk-grant.ts";
import { displayCaller } from "../../domain/caller.ts";
import type { Instant } from "../../domain/month.ts";

/** Returns the text of the report. Every value in it is escaped, so that none is a command. */
export function messageOf(report: BulkGrantReport, workflowUrl: string): string {
  const { bulkGrant } = report;
  const { revision } = bulkGrant;
  return [
    `*${titleOf(report)}*`,
    `\`${escaped(bulkGrant.bulkGrantId)}\` of \`${escaped(bulkGrant.programId)}\`, ` +
      `revision ${revision.number}` +
      (revision.reverses ? `, reverses \`${escaped(revision.reverses)}\`` : ""),
    `${rows(revision.rowCount)}, ${points(revision.totalPoints)}`,
    ...checkLines(bulkGrant),
    ...(bulkGrant.result ? runLines(bulkGrant.result, revision.reverses !== undefined) : []),
    ...(report.kind === "REMINDER" ? [deadlineLine(bulkGrant)] : []),
    ...peopleLines(bulkGrant),
    linksLine(report, workflowUrl),
  ].join("\n");
}

function titleOf({ kind, bulkGrant: { state, revision } }: BulkGrantReport): string {
  const what = revision.reverses === undefined ? "Bulk grant" : "Reversal";
  return kind === "REMINDER" ? `${what} awaits approval` : `${what} is ${state}`;
}

function checkLines({ checked, revision }: BulkGrant): string[] {
  const { alreadyGranted = 0, alreadyGrantedPoints = 0, invalid = 0 } = checked ?? {};
  const { exceededCap, sameContentAs } = revision;
  return [
    ...(invalid > 0 ? [`Invalid: ${rows(invalid)}`] : []),
    ...(exceededCap === undefined ? [] : [`Above the program's cap of ${points(exceededCap)}`]),
    ...(alreadyGranted > 0
      ? [`Granted before: ${rows(alreadyGranted)}, ${points(alreadyGrantedPoints)}`]
      : []),
    ...(sameContentAs ? [`The same rows as \`${escaped(sameContentAs)}\``] : []),
  ];
}

function runLines(result: RunCounts, isReversal: boolean): string[] {
  const codes = Object.entries(result.failedByCode)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${count.toLocaleString("en-US")}`);
  const verb = isReversal ? "Revoked" : "Granted";
  return [
    `${verb}: ${rows(result.granted)}, ${points(result.grantedPoints)}`,
    ...(result.failed > 0 ? [`Failed: ${rows(result.failed)} (${codes.join(", ")})`] : []),
    ...(result.notRun > 0 ? [`Not executed: ${rows(result.notRun)}`] : []),
  ];
}

function deadlineLine({ approvals, revision, expireTime }: BulkGrant): string {
  const { requiredApprovals } = revision;
  return `${approvals.length} of ${requiredApprovals} approvals; expires ${dateOf(expireTime)}`;
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
    ...approvals.map(({ by, note }) => `Approved by ${escaped(displayCaller(by))}${noted(note)}`),
    ...(ended ? [endingLine(ended)] : []),
  ];
}

const endingLine = ({ action, by, note }: Action): string =>
  `${endings[action as keyof typeof endings]} by ${escaped(displayCaller(by))}${noted(note)}`;

const noted = (note: string): string => (note ? `: ${escaped(note)}` : "");

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
 * break, a note could pass for another line of the report.
 */
const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/\p{Cc}+/gu, " ");
