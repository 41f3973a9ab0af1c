/** Writes in Slack's mrkdwn which sheets a pick-up has refused, or has left in its source. */

import { withoutVersion } from "../../platform/words/source-string.ts";
import type { PickUpReport, RefusedSheet } from "../ports/bulk-grants.ts";
import { escaped, link, mrkdwn, workflowPlace } from "./mrkdwn.ts";

/** A message is a text to glance at: the errors' place has all that is wrong. */
const maxMessageLength = 300;

/** Returns the text. Every value in it is escaped, so that none is a command. */
export function pickUpMessage(report: PickUpReport, workflowUrl: string | undefined): string {
  const { sheets, moreCount, programId, workflowId } = report;
  const count = sheets.length + moreCount;
  const what = count === 1 ? "A sheet was" : `${count.toLocaleString("en-US")} sheets were`;
  return [
    `*${what} not picked up* for ${mrkdwn.code(programId)}`,
    ...sheets.map(sheetLine),
    ...(moreCount > 0 ? [`and ${moreCount.toLocaleString("en-US")} more`] : []),
    workflowPlace(workflowId, workflowUrl),
  ].join("\n");
}

function sheetLine({ source, reason, message, errorsAt, movedTo }: RefusedSheet): string {
  const text = message === undefined ? "" : ` (${escaped(cut(message))})`;
  return [
    `${mrkdwn.code(withoutVersion(source))}: ${escaped(reason)}${text}`,
    ...(errorsAt === undefined ? [] : [place("Errors", errorsAt)]),
    movedTo === undefined ? "still in its source" : place("Moved to", movedTo),
  ].join(" · ");
}

const cut = (text: string): string =>
  text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text;

/** An address is linked; the name of a place is shown. */
const place = (what: string, at: string): string =>
  at.startsWith("https://") ? link(at, what) : `${what}: ${escaped(at)}`;
