/** The summary of a revision in words, for the people who approve it. */
import { formatMonth, type Instant } from "../../platform/words/month.ts";
import { nounFor, quantity } from "../../platform/words/quantities.ts";
import type { TextStyle } from "../../platform/words/text-style.ts";
import { type BulkGrantSummary, type Overlap, warnedOverlaps } from "./bulk-grant-summary.ts";
import { points, rows, type TextLine } from "./bulk-grant-text.ts";
import { readingText } from "./sheet-reading-text.ts";
import { sheetWarningText } from "./sheet-warning.ts";

interface SummaryText {
  /** What may be a mistake, to be read before anything else. */
  readonly warnings: string[];
  /** The most important first: a terminal shows as many of them as it has lines for. */
  readonly lines: TextLine[];
}

/** The lines that say something of a single row beside the request itself. */
const linesOfRequest: ReadonlySet<string> = new Set(["accounts", "points expire"]);

/**
 * The summary of a revision by its number, and when its points expire, where that is known. That of
 * a request has no lines that repeat its only row.
 */
export function summaryText(
  {
    summary,
    revision,
    isRequest,
    expireTime,
  }: {
    readonly summary: BulkGrantSummary;
    readonly revision: number;
    readonly isRequest: boolean;
    readonly expireTime?: Instant | undefined;
  },
  style: TextStyle,
): SummaryText {
  const { value, code, time } = style;
  const { difference, otherReasons, overlaps, lookAlikes = [], expireMonths = [] } = summary;
  const warned = warnedOverlaps(summary);
  const lines: TextLine[] = [];
  const say = (name: string, text: string) => {
    if (!isRequest || linesOfRequest.has(name)) lines.push({ name, text });
  };

  if (difference) {
    const { addedCount, removedCount, changedCount, rowCountBefore, pointsBefore } = difference;
    say(
      "changes",
      `${quantity(addedCount, "user")} added, ${number(removedCount)} removed, ` +
        `${number(changedCount)} changed since revision ${revision - 1}, ` +
        `which had ${rows(rowCountBefore)}, ${points(pointsBefore)}`,
    );
  }
  if (summary.reading) say("sheet", readingText(summary.reading, style));
  const range = between(summary.minPoints, summary.maxPoints);
  say("points of a row", `${range}, median ${number(summary.medianPoints)}`);
  const created = quantity(summary.withoutAccountCount, "user");
  say("accounts", `${created} without one, ${number(summary.frozenCount)} frozen`);
  if (expireTime !== undefined) say("points expire", time(expireTime));
  for (const { reason, variantCount, ...of } of summary.reasons) {
    const variants = variantCount === undefined ? ":" : ` (${number(variantCount)} reasons),`;
    say("reason", `${value(reason) || "(none)"}${variants} ${sum(of)}`);
  }
  if (otherReasons) {
    say("other reasons", `${number(otherReasons.reasonCount)}: ${sum(otherReasons)}`);
  }
  for (const { expireMonth, ...of } of expireMonths) {
    const month = expireMonth === undefined ? "(none)" : formatMonth(expireMonth);
    say("expire month", `${month}: ${sum(of)}`);
  }
  const largest = summary.largestRows.map((row) => `${code(row.userId)} ${number(row.points)}`);
  say("largest rows", largest.join(", "));
  const ranges = summary.histogram.map(
    ({ rowCount, minPoints, maxPoints }) => `${rows(rowCount)} of ${between(minPoints, maxPoints)}`,
  );
  say("rows by their points", ranges.join(", "));
  for (const overlap of overlaps.filter((overlap) => !warned.includes(overlap))) {
    say("overlap", overlapText(overlap));
  }
  say("compared with", quantity(summary.comparedCount, "other bulk grant"));

  function overlapText(overlap: Overlap): string {
    const { sameUserCount, samePointsCount, bulkGrantId, state, reversalId } = overlap;
    const users = `${number(sameUserCount)} of ${quantity(summary.rowCount, "user")}`;
    return (
      `${users} ${nounFor(sameUserCount, "is", "are")} in ${code(bulkGrantId)} as well ` +
      `(${state}, ${time(overlap.time)}), ${number(samePointsCount)} with the same points` +
      (reversalId === undefined ? "" : `; ${code(reversalId)} has reversed it`)
    );
  }
  const titles = lookAlikes.map(
    (id) => `the title looks like that of ${code(id)}, which is another one`,
  );
  const ofRows = (summary.warnings ?? []).map((warning) => sheetWarningText(warning, style));
  return { warnings: [...ofRows, ...titles, ...warned.map(overlapText)], lines };
}

const number = (value: number): string => value.toLocaleString("en");

const between = (min: number, max: number): string => `${number(min)} to ${number(max)}`;

const sum = (of: { readonly rowCount: number; readonly points: number }): string =>
  `${rows(of.rowCount)}, ${points(of.points)}`;
