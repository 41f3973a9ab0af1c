/** Writes values in Slack's mrkdwn, each escaped, so that none is a command. */

import type { Approval } from "../../platform/words/caller.ts";
import { displayCaller } from "../../platform/words/caller.ts";
import type { Instant } from "../../platform/words/month.ts";
import { quantity } from "../../platform/words/quantities.ts";

/** The caller of an action and, if there is one, the reason. */
export const who = ({ caller, reason }: Approval): string =>
  `${escaped(displayCaller(caller))}${reason ? `: ${escaped(reason)}` : ""}`;

export const rows = (count: number): string => quantity(count, "row");

export const points = (count: number): string => quantity(count, "point");

/** Slack shows the time in each reader's zone. */
export function dateOf(time: Instant): string {
  const utc = new Date(time).toISOString();
  return `<!date^${Math.floor(time / 1_000)}^{date_short_pretty} {time}|${utc}>`;
}

/** A bar ends the address and begins the text. */
export const link = (url: string, text: string): string =>
  `<${escaped(url).replaceAll("|", "%7C")}|${escaped(text)}>`;

/**
 * Replaces the three characters that Slack reads as commands, and control characters: with a line
 * break, a reason could pass for another line of the report.
 */
export const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/\p{Cc}+/gu, " ");
