/** What a person reads of a bulk grant before a decision: the first screen, and all on demand. */
import { type BulkGrant, BulkGrantSchema } from "@meguri/client/bulk-grants";
import { facts, readSummary, summaryCells, textsOf, warning } from "./bulk-show.ts";
import { approvalCounts, sizeText } from "./bulk-text.ts";
import { isAsking } from "./confirm.ts";
import { columnsOf, linesOf } from "./fields.ts";
import { write } from "./io.ts";
import { type NamedText, pairLines, wrapped } from "./layout.ts";
import { callerText, formatTime, quantity, styled } from "./output.ts";
import type { Session } from "./session.ts";

/** Who has submitted what for when: the lines that are read before all else. */
const firstFacts = columnsOf<BulkGrant>(BulkGrantSchema, [
  {
    "submitted by": ({ submitter, submitTime, source }) =>
      `${submitter ? callerText(submitter) : ""} at ${formatTime(submitTime)}` +
      `${source && ` from ${source}`}`,
  },
  "started by: starter, request: request.text, reason: request.reason, title",
  {
    "bulk grant": ({ bulkGrantId, programId, revision }) =>
      `${bulkGrantId} of ${programId}, revision ${revision}`,
  },
  "reverses: reversedBulkGrantId, same rows as: sameContentBulkGrantId, cause",
  {
    "in all": (bulkGrant) => (bulkGrant.request ? undefined : sizeText(bulkGrant)),
    "already granted": ({ alreadyGrantedCount: rowCount, alreadyGrantedPoints: totalPoints }) =>
      rowCount > 0 ? sizeText({ rowCount, totalPoints }) : undefined,
    when: ({ executeTime }) =>
      executeTime ? `not before ${formatTime(executeTime)}` : "as soon as it is approved",
  },
  "expire month: expireMonth",
  {
    approvals: (bulkGrant) =>
      `${approvalCounts(bulkGrant)}, until ${formatTime(bulkGrant.expireTime)}`,
  },
  "approved by: approvals.caller, digest",
]);

/** Shows a bulk grant on standard error: what a question needs, or everything. */
export interface Screen {
  /**
   * Shows the first facts, as many lines of the summary as the terminal has room for beside the
   * question, and all warnings, right above the question.
   */
  showFirst(question: string): Promise<void>;
  showAll(): Promise<void>;
}

/** Reads the summary of a bulk grant. Where nobody can be asked, everything is one table. */
export async function readScreen(session: Session, bulkGrant: BulkGrant): Promise<Screen> {
  const { io, out } = session;
  const summary = await readSummary(session, bulkGrant);
  const digest = ["digest", bulkGrant.digest] as const;
  if (!isAsking(session)) {
    const cells = [...linesOf(facts, bulkGrant), ...summaryCells(summary), digest];
    const showAll = async () => {
      if (!out.isJson) await write(io.stderr, out.table(cells));
    };
    return { showFirst: showAll, showAll };
  }
  const columns = io.stderr.columns || 80;
  const rows = io.stderr.rows || 24;
  const texts = textsOf((summary?.lines ?? []).map(({ name, text }) => [name, text]));
  const warnings = textsOf((summary?.warnings ?? []).map((text) => [warning, text]));
  /** The facts, the lines of the summary and the warnings, each as the lines of the terminal. */
  const layOut = (facts: readonly NamedText[]) => {
    const all = pairLines([...facts, ...texts, ...warnings], columns);
    return {
      first: all.slice(0, facts.length),
      lines: all.slice(facts.length, facts.length + texts.length),
      warned: all
        .slice(facts.length + texts.length)
        .map((lines) => lines.map((line) => styled(io.stderr, io.env, "red", line))),
    };
  };
  const show = (...lines: string[]) => write(io.stderr, lines.map((line) => `${line}\n`).join(""));
  return {
    async showFirst(question) {
      const { first, lines, warned } = layOut(textsOf(linesOf(firstFacts, bulkGrant)));
      // One line has the command, and one says that there is more.
      const taken = [...first, ...warned, wrapped(`${question} [y/N] `, columns)].flat().length + 2;
      const shown = lines.slice(0, fitting(lines, rows - taken));
      const more = lines.length - shown.length;
      const hint = more > 0 ? [`${quantity(more, "more line")}: answer d`] : [];
      await show(...[...first, ...shown].flat(), ...hint, ...warned.flat());
    },
    async showAll() {
      const all = layOut(textsOf([...linesOf(facts, bulkGrant), digest]));
      await show(...[...all.first, ...all.lines, ...all.warned].flat());
    },
  };
}

/** How many of the first texts fit into so many lines. */
function fitting(texts: readonly (readonly string[])[], lineCount: number): number {
  let left = lineCount;
  const tooMany = texts.findIndex((lines) => {
    left -= lines.length;
    return left < 0;
  });
  return tooMany === -1 ? texts.length : tooMany;
}
