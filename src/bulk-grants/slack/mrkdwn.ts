/** Writes values in Slack's mrkdwn, each escaped, so that none is a command. */

import { withoutControls } from "../../platform/words/controls.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { TextStyle } from "../../platform/words/text-style.ts";

/** Slack shows the time in each reader's zone. */
function dateOf(time: Instant): string {
  const utc = new Date(time).toISOString();
  return `<!date^${Math.floor(time / 1_000)}^{date_short_pretty} {time}|${utc}>`;
}

/** A bar ends the address and begins the text. */
export const link = (url: string, text: string): string =>
  `<${escaped(url).replaceAll("|", "%7C")}|${escaped(text)}>`;

/**
 * Replaces the three characters that Slack reads as commands, and control characters: with a line
 * break, a reason could pass for another line of the report, and with one that changes the
 * direction, the name of a file could show the rest of its line in another order.
 */
export const escaped = (text: string): string =>
  withoutControls(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Links to a workflow, or names it where it has no address. */
export const workflowPlace = (workflowId: string, url: string | undefined): string =>
  url === undefined ? `Workflow: ${mrkdwn.code(workflowId)}` : link(url, "Workflow");

/** Texts for Slack. */
export const mrkdwn: TextStyle = {
  value: escaped,
  // A backtick would end the code.
  code: (text) => (text.includes("`") ? escaped(text) : `\`${escaped(text)}\``),
  time: dateOf,
  strong: (text) => `*${text}*`,
};
