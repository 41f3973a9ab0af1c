/** Writes the report of a bulk grant in Slack's mrkdwn. */

import { searchAttributes } from "../../platform/contract/search-attributes.ts";
import type { WorkflowLinks } from "../../platform/temporal/links.ts";
import { withoutVersion } from "../../platform/words/source-string.ts";
import type { BulkGrantReport } from "../ports/bulk-grants.ts";
import type { BulkGrant } from "../rules/bulk-grant.ts";
import {
  countsText,
  detailsOf,
  factsOf,
  requestText,
  type TextLine,
} from "../rules/bulk-grant-text.ts";
import { summaryText } from "../rules/summary-text.ts";
import { escaped, link, mrkdwn, workflowPlace } from "./mrkdwn.ts";

/**
 * The lines of a summary that a message has: it is read in a few seconds, and by the whole channel,
 * which needs no user ids but that of the sample row. All others are where its links lead.
 */
const shown: ReadonlySet<string> = new Set(["changes", "sheet", "accounts"]);

/** Finds the runs of all bulk grants that await approval, those of a source included. */
const waiting = `${searchAttributes.state} = "AWAITING_APPROVAL" AND ExecutionStatus = "Running"`;

/** Returns the text of the report. Every value in it is escaped, so that none is a command. */
export function messageOf(report: BulkGrantReport, links: WorkflowLinks): string {
  const { bulkGrant, summary } = report;
  const { programId, bulkGrantId, revision, result } = bulkGrant;
  const { code } = mrkdwn;
  const isRequest = revision.request !== undefined;
  const text = summary && summaryText({ summary, revision: revision.number, isRequest }, mrkdwn);
  return [
    `*${titleOf(report)}*`,
    `${code(bulkGrantId)} of ${code(programId)}, revision ${revision.number}`,
    ...(text?.warnings ?? []).map((warning) => `:warning: ${warning}`),
    ...detailsOf(bulkGrant, mrkdwn),
    ...factsOf(bulkGrant, mrkdwn).map(lineOf),
    ...countsText(result, revision).map(lineOf),
    ...(text?.lines ?? []).filter(({ name }) => shown.has(name)).map(lineOf),
    linksLine(bulkGrant, [
      workflowPlace(report.workflowId, links.toWorkflow(report.workflowId)),
      ...listPlaces(bulkGrant, links),
    ]),
  ].join("\n");
}

const lineOf = ({ name, text }: TextLine): string =>
  `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${text}`;

function titleOf({ kind, bulkGrant: { state, revision } }: BulkGrantReport): string {
  const sheet = revision.reversedBulkGrantId === undefined ? "Bulk grant" : "Reversal";
  const requested = requestText(revision, mrkdwn);
  const what = requested === undefined ? sheet : `${requested}: request`;
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

/** Where an approver finds what waits beside this bulk grant, while this one waits. */
function listPlaces({ state }: BulkGrant, links: WorkflowLinks): string[] {
  const url = state === "AWAITING_APPROVAL" ? links.toList(waiting) : undefined;
  return url === undefined ? [] : [link(url, "All that awaits approval")];
}

function linksLine(bulkGrant: BulkGrant, workflowPlaces: readonly string[]): string {
  const { movedTo, failedRowsAt } = bulkGrant;
  const { name, url } = movedTo ?? sourceAddress(bulkGrant);
  return [
    ...workflowPlaces,
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
