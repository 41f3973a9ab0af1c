/** The command that shows everything that was done with a bulk grant, with its summary. */
import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { reasonOf } from "@meguri/client";
import {
  type BulkGrant,
  type BulkGrant_Action,
  BulkGrant_ActionSchema,
  BulkGrant_StateSchema,
  type BulkGrantRevision,
  BulkGrantRevisionSchema,
  BulkGrantSchema,
  BulkGrantService,
  type BulkGrantSummary,
  type BulkGrantSummary_Overlap,
  BulkGrantSummarySchema,
  GetBulkGrantRequestSchema,
  GetBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { approvalCounts, nextSteps, stateText, waitsFor } from "./bulk-text.ts";
import { answersOf } from "./calls.ts";
import { runs } from "./command.ts";
import { columnsOf, linesOf } from "./fields.ts";
import { bulkGrant, program } from "./options.ts";
import {
  type Cell,
  type Columns,
  enumName,
  formatTime,
  nounFor,
  type Output,
  quantity,
} from "./output.ts";
import type { Session } from "./session.ts";

const { method } = BulkGrantService;

export const show = runs(GetBulkGrantRequestSchema, {
  summary: "show a bulk grant and everything that was done with it",
  description:
    "Shows a bulk grant, the summary of its current revision, all revisions, and every action: " +
    "who did what, when and why. In a pipe a line begins with what it is.",
  takes: [bulkGrant, program],
  examples: ["meguri bulk show spring"],
  async run(session, { programId, bulkGrantId }) {
    const { meguri, out, call } = session;
    const name = { programId, bulkGrantId };
    const answer = await meguri.bulkGrants.getBulkGrant(name, call);
    const found = answer.bulkGrant;
    if (found === undefined) return;
    const summary = await readSummary(session, found);
    const revisions: BulkGrantRevision[] = [];
    for await (const page of answersOf(session, method.listBulkGrantRevisions, name)) {
      revisions.push(...page.revisions);
    }
    const actions: BulkGrant_Action[] = [];
    for await (const page of answersOf(session, method.listBulkGrantActions, name)) {
      actions.push(...page.actions);
    }
    const document = {
      ...(jsonOf(GetBulkGrantResponseSchema, answer) as object),
      summary: summary && jsonOf(BulkGrantSummarySchema, summary),
      revisions: revisions.map((revision) => jsonOf(BulkGrantRevisionSchema, revision)),
      actions: actions.map((action) => jsonOf(BulkGrant_ActionSchema, action)),
    };
    const sections = [
      section(out, "fact", factColumns, linesOf(facts, found)),
      section(out, "summary", summaryColumns, summary ? summaryCells(summary) : []),
      section(out, "revision", revisionColumns, revisions),
      section(out, "action", actionColumns, actions),
      section(out, "failed", codeColumns, found.result?.problemCounts ?? []),
    ];
    await out.value(
      document,
      sections.filter((text) => text !== "").join(out.isTerminal ? "\n" : ""),
    );
    if (out.isJson) return;
    for (const line of await nextSteps(session, found)) await out.note(line);
  },
});

const jsonOf = <S extends DescMessage>(schema: S, message: MessageShape<S>) =>
  toJson(schema, message, { alwaysEmitImplicit: true });

/** A table under the names of its columns; in a pipe each line begins with the table's name. */
function section<T>(out: Output, name: string, columns: Columns<T>, records: readonly T[]): string {
  const start = out.isTerminal ? [] : [name];
  const lines = records.map((record) => [
    ...start,
    ...Object.values(columns).map((cellOf) => cellOf(record)),
  ]);
  return out.table(lines, Object.keys(columns));
}

type Fact = readonly [name: string, value: Cell];

const factColumns: Columns<Fact> = { fact: ([name]) => name, value: ([, value]) => value };

const facts = columnsOf<BulkGrant>(BulkGrantSchema, [
  "bulk grant: bulkGrantId, title, cause",
  { state: stateText, "waits for": waitsFor },
  "revision, rows: rowCount, points: totalPoints, expire month: expireMonth",
  "wrong rows: invalidCount, already granted: alreadyGrantedCount, granted: result.grantedCount",
  "granted points: result.grantedPoints, failed: result.failedCount, not run: result.notRunCount",
  "submitter, started by: starter",
  { approvals: approvalCounts },
  "source, address: sourceUrl, moved to: movedTo.name",
  { "failed rows": ({ failedRowsAt }) => failedRowsAt?.url || failedRowsAt?.name },
  "reverses: reversedBulkGrantId, same content as: sameContentBulkGrantId, time: executeTime",
  "created: createTime, started: startTime, ended: endTime, counts final: countsFinalTime, digest",
]);

const summaryColumns: Columns<Fact> = { summary: ([name]) => name, value: ([, value]) => value };

const revisionColumns = columnsOf<BulkGrantRevision>(BulkGrantRevisionSchema, [
  "revision, submitted: submitTime, submitter, rows: rowCount, points: totalPoints, source, title",
  "started by: starter, cause, expire month: expireMonth",
]);

const actionColumns = columnsOf<BulkGrant_Action>(BulkGrant_ActionSchema, [
  "time, revision, action: type, by: caller, reason",
]);

const codeColumns: Columns<{ readonly code: string; readonly rowCount: number }> = {
  "failed with": ({ code }) => code,
  rows: ({ rowCount }) => rowCount,
};

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
  ["compared with", quantity(summary.comparedCount, "other bulk grant")],
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
