/** Reads and shows the summary of a revision, for those who approve it. */
import { reasonOf } from "@meguri/client";
import {
  type BulkGrant,
  BulkGrant_StateSchema,
  type BulkGrantSummary,
  type BulkGrantSummary_Overlap,
} from "@meguri/client/bulk-grants";
import { counted, nounFor } from "./counted.ts";
import { enumName } from "./options.ts";
import { type Cell, formatTime } from "./output.ts";
import type { Session } from "./session.ts";

/** The summary of the current revision; none before its rows are checked. */
export async function readSummary(
  { meguri, call }: Session,
  { programId, bulkGrantId, revision }: BulkGrant,
): Promise<BulkGrantSummary | undefined> {
  const request = { programId, bulkGrantId, revision };
  try {
    return (await meguri.bulkGrants.getBulkGrantSummary(request, call)).summary;
  } catch (error) {
    if (reasonOf(error) === "SUMMARY_NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * The summary as lines of a table: what a line is about, and what it says. Warnings come last, so
 * that a terminal of few lines still shows them.
 */
export const summaryCells = (summary: BulkGrantSummary): [name: string, value: Cell][] => [
  [
    "points of a row",
    `${summary.minPoints} to ${summary.maxPoints}, median ${summary.medianPoints}`,
  ],
  ...summary.histogram.map(({ minPoints, maxPoints, rowCount }): [string, Cell] => [
    `${minPoints} to ${maxPoints} ${nounFor(maxPoints, "point")}`,
    rowsText(rowCount),
  ]),
  ["largest rows", largestText(summary)],
  ...summary.reasons.map(({ reason, rowCount, points }): [string, Cell] => [
    "reason",
    `${reason || "(none)"}: ${rowsText(rowCount)}, ${pointsText(points)}`,
  ]),
  ...otherReasons(summary),
  ["without an account", summary.withoutAccountCount],
  ["frozen", summary.frozenCount],
  ["points expire", summary.expireTime],
  ...summary.expireMonths.map(({ expireMonth, rowCount, points }): [string, Cell] => [
    "expire month",
    `${expireMonth || "(none)"}: ${rowsText(rowCount)}, ${pointsText(points)}`,
  ]),
  ...difference(summary),
  ...summary.overlaps
    .filter(({ warned }) => !warned)
    .map((overlap): [string, Cell] => ["overlap", overlapText(overlap, summary)]),
  ["compared with", counted(summary.comparedCount, "other bulk grant")],
  ...summary.overlaps
    .filter(({ warned }) => warned)
    .map((overlap): [string, Cell] => ["WARNING", overlapText(overlap, summary)]),
  ...summary.lookAlikeBulkGrantIds.map((id): [string, Cell] => [
    "WARNING",
    `the title looks like that of ${id}, which is another one`,
  ]),
];

const count = (value: number | bigint): string => value.toLocaleString("en-US");
const rowsText = (rows: number): string => `${count(rows)} ${nounFor(rows, "row")}`;
const pointsText = (points: bigint): string => `${count(points)} ${nounFor(points, "point")}`;

const largestText = ({ largestRows }: BulkGrantSummary): string =>
  largestRows.map(({ userId, points }) => `${userId} ${count(points)}`).join(", ");

function otherReasons({ otherReasons: others }: BulkGrantSummary): [string, Cell][] {
  if (!others) return [];
  const { reasonCount, rowCount, points } = others;
  const text = `${count(reasonCount)} more: ${rowsText(rowCount)}, ${pointsText(points)}`;
  return [["reasons", text]];
}

function difference({ difference: found, revision }: BulkGrantSummary): [string, Cell][] {
  if (!found) return [];
  const users =
    `${count(found.addedCount)} added, ${count(found.removedCount)} removed, ` +
    `${count(found.changedCount)} changed`;
  const before = `${rowsText(found.previousRowCount)} and ${pointsText(found.previousPoints)}`;
  return [[`since revision ${revision - 1}`, `${users}; before: ${before}`]];
}

function overlapText(overlap: BulkGrantSummary_Overlap, { rowCount }: BulkGrantSummary): string {
  const { sameUserCount, samePointsCount, bulkGrantId, state, time, reversalId } = overlap;
  const users = `${count(sameUserCount)} of ${count(rowCount)} ${nounFor(rowCount, "user")}`;
  const since = `${enumName(BulkGrant_StateSchema, state)}, ${formatTime(time)}`;
  const reversed = reversalId ? `; ${reversalId} has reversed it` : "";
  return (
    `${users} ${nounFor(sameUserCount, "is", "are")} in ${bulkGrantId} as well (${since}), ` +
    `${count(samePointsCount)} with the same points${reversed}`
  );
}
