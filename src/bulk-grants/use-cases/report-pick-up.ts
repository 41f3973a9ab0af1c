/** The use case that reports which sheets a pick-up has refused, or has left. */

import type { PickUpReport } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";

/** A pick-up sends at most this many messages: one for each sheet, or one for all. */
const maxMessages = 5;

/**
 * Sends a message for each sheet, or one for all when there are more than five. Throws the error of
 * the first message that was not sent, and then sends no further message. Must not be repeated.
 */
export async function reportPickUp(
  { reporter }: Pick<Deps, "reporter">,
  report: PickUpReport,
): Promise<void> {
  const { sheets, moreCount } = report;
  const reports =
    sheets.length + moreCount > maxMessages
      ? [report]
      : sheets.map((sheet) => ({ ...report, sheets: [sheet] }));
  for (const each of reports) await reporter.sendPickUp(each);
}
