/** The command that shows everything that was done with a bulk grant, with its summary. */
import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { reasonOf } from "@meguri/client";
import {
  type BulkGrant,
  type BulkGrant_Action,
  BulkGrant_ActionSchema,
  type BulkGrantRevision,
  BulkGrantRevisionSchema,
  BulkGrantSchema,
  BulkGrantService,
  BulkGrantSummarySchema,
  GetBulkGrantRequestSchema,
  GetBulkGrantResponseSchema,
  type GetBulkGrantSummaryResponse,
} from "@meguri/client/bulk-grants";
import { approvalCounts, detailsOf, stateText } from "./bulk-text.ts";
import { answersOf } from "./calls.ts";
import { runs } from "./command.ts";
import { columnsOf, linesOf } from "./fields.ts";
import { type NamedText, pairLines } from "./layout.ts";
import { bulkGrant, program } from "./options.ts";
import { type Cell, type Columns, cellText, type Output } from "./output.ts";
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
      summary: summary?.summary && jsonOf(BulkGrantSummarySchema, summary.summary),
      revisions: revisions.map((revision) => jsonOf(BulkGrantRevisionSchema, revision)),
      actions: actions.map((action) => jsonOf(BulkGrant_ActionSchema, action)),
    };
    const sections = [
      pairs(session, "fact", [...linesOf(facts, found), ["digest", found.digest]]),
      pairs(session, "summary", summaryCells(summary)),
      section(out, "revision", revisionColumns, revisions),
      section(out, "action", actionColumns, actions),
      section(out, "failed", codeColumns, found.result?.problemCounts ?? []),
    ];
    await out.value(
      document,
      sections.filter((text) => text !== "").join(out.isTerminal ? "\n" : ""),
    );
    if (out.isJson) return;
    for (const line of await detailsOf(session, found)) await out.note(line);
  },
});

const jsonOf = <S extends DescMessage>(schema: S, message: MessageShape<S>) =>
  toJson(schema, message, { alwaysEmitImplicit: true });

/**
 * A table under the names of its columns. On a terminal it is without columns that are empty; in a
 * pipe each line begins with the table's name.
 */
function section<T>(out: Output, name: string, columns: Columns<T>, records: readonly T[]): string {
  const start = out.isTerminal ? [] : [name];
  const shown = Object.entries(columns).filter(
    ([, cellOf]) => !out.isTerminal || records.some((record) => hasValue(cellOf(record))),
  );
  const lines = records.map((record) => [...start, ...shown.map(([, cellOf]) => cellOf(record))]);
  return out.table(
    lines,
    shown.map(([name]) => name),
    { isFolded: true },
  );
}

/** A section of names and what is said of them; on a terminal, without those that are empty. */
function pairs({ out, io }: Session, name: string, cells: readonly Fact[]): string {
  if (!out.isTerminal) return out.table(cells.map((cell) => [name, ...cell]));
  const texts = textsOf(cells);
  if (texts.length === 0) return "";
  const lines = pairLines(texts, io.stdout.columns || 80).flatMap((lines, i) =>
    texts[i]?.[0] === warning ? lines.map((line) => out.style("red", line)) : lines,
  );
  return `${[out.style("bold", name), ...lines].join("\n")}\n`;
}

/** The facts beside the digest, which a person reads last. */
export const facts = columnsOf<BulkGrant>(BulkGrantSchema, [
  "bulk grant: bulkGrantId, title, request: request.text, reason: request.reason, cause",
  { state: stateText },
  "revision, rows: rowCount, points: totalPoints, expire month: expireMonth",
  "wrong rows: invalidCount, already granted: alreadyGrantedCount, granted: result.grantedCount",
  "granted points: result.grantedPoints, failed: result.failedCount, not run: result.notRunCount",
  "submitter, started by: starter",
  { approvals: approvalCounts },
  "source, address: sourceUrl, moved to: movedTo.name",
  { "failed rows": ({ failedRowsAt }) => failedRowsAt?.url || failedRowsAt?.name },
  "reverses: reversedBulkGrantId, same content as: sameContentBulkGrantId",
  { time: ({ executeTime }) => executeTime ?? "as soon as it is approved" },
  "created: createTime, started: startTime, ended: endTime, counts final: countsFinalTime",
]);

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

/** The summary of the current revision in words; none before its rows are checked. */
export async function readSummary(
  { meguri, call }: Session,
  { programId, bulkGrantId, revision }: BulkGrant,
): Promise<GetBulkGrantSummaryResponse | undefined> {
  const request = { programId, bulkGrantId, revision };
  try {
    return await meguri.bulkGrants.getBulkGrantSummary(request, call);
  } catch (error) {
    if (reasonOf(error) === "SUMMARY_NOT_FOUND") return undefined;
    throw error;
  }
}

type Fact = readonly [name: string, value: Cell];

/** The name of a line that says what may be a mistake. */
export const warning = "WARNING";

/** The lines of a table. Warnings come last, so that a terminal of few lines still shows them. */
export const summaryCells = (read: GetBulkGrantSummaryResponse | undefined): Fact[] => [
  ...(read?.lines ?? []).map(({ name, text }): Fact => [name, text]),
  ...(read?.warnings ?? []).map((text): Fact => [warning, text]),
];

/** The cells that have a value, as texts. */
export const textsOf = (cells: readonly Fact[]): NamedText[] =>
  cells.filter(([, value]) => hasValue(value)).map(([name, value]) => [name, cellText(value)]);

const hasValue = (value: Cell): boolean => value !== undefined && value !== "";
