/** The command that shows everything that was done with a bulk grant. */
import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import {
  type BulkGrant,
  type BulkGrant_Action,
  BulkGrant_Action_TypeSchema,
  BulkGrant_ActionSchema,
  type BulkGrantRevision,
  BulkGrantRevisionSchema,
  BulkGrantSummarySchema,
  GetBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { nextSteps } from "./bulk-ended.ts";
import { readSummary, summaryCells } from "./bulk-summary.ts";
import { approvalCounts, stateText, waitsFor } from "./bulk-text.ts";
import { callerText } from "./callers.ts";
import { enumName, programOption } from "./options.ts";
import type { Cell, Columns, Output } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addBulkShow: AddCommand = (parent, inSession) => {
  parent
    .command("show")
    .summary("show a bulk grant and everything that was done with it")
    .description(
      "Shows a bulk grant, the summary of its current revision, all revisions, and every " +
        "action: who did what, when and why. In a pipe a line begins with what it is.",
    )
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .addHelpText("after", examples("meguri bulk show spring"))
    .action(
      inSession(async (session, bulkGrantId, { program: programId }) => {
        const { meguri, out, call } = session;
        const name = { programId, bulkGrantId };
        const answer = await meguri.bulkGrants.getBulkGrant(name, call);
        const { bulkGrant } = answer;
        if (bulkGrant === undefined) return;
        const summary = await readSummary(session, bulkGrant);
        const revisions = await allOf(async (page) => {
          const list = await meguri.bulkGrants.listBulkGrantRevisions({ ...name, ...page }, call);
          return [list.revisions, list.nextPageToken];
        });
        const actions = await allOf(async (page) => {
          const list = await meguri.bulkGrants.listBulkGrantActions({ ...name, ...page }, call);
          return [list.actions, list.nextPageToken];
        });
        const document = {
          ...(jsonOf(GetBulkGrantResponseSchema, answer) as object),
          ...(summary && { summary: jsonOf(BulkGrantSummarySchema, summary) }),
          revisions: revisions.map((revision) => jsonOf(BulkGrantRevisionSchema, revision)),
          actions: actions.map((action) => jsonOf(BulkGrant_ActionSchema, action)),
        };
        const sections = [
          section(out, "fact", factColumns, facts(bulkGrant)),
          section(out, "summary", summaryColumns, summary ? summaryCells(summary) : []),
          section(out, "revision", revisionColumns, revisions),
          section(out, "action", actionColumns, actions),
          section(out, "failed", codeColumns, bulkGrant.result?.problemCounts ?? []),
        ];
        await out.value(
          document,
          sections.filter((text) => text !== "").join(out.isTerminal ? "\n" : ""),
        );
        if (out.isJson) return;
        for (const line of await nextSteps(session, bulkGrant)) await out.note(line);
      }),
    );
};

/** All records of a list. */
async function allOf<T>(read: Parameters<typeof pagesOf<T>>[0]): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pagesOf(read)) all.push(...page);
  return all;
}

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

const facts = (bulkGrant: BulkGrant): Fact[] => [
  ["bulk grant", bulkGrant.bulkGrantId],
  ["title", bulkGrant.title],
  ["cause", bulkGrant.cause],
  ["state", stateText(bulkGrant)],
  ["waits for", waitsFor(bulkGrant)],
  ["revision", bulkGrant.revision],
  ["rows", bulkGrant.rowCount],
  ["points", bulkGrant.totalPoints],
  ["expire month", bulkGrant.expireMonth],
  ["wrong rows", bulkGrant.invalidCount],
  ["already granted", bulkGrant.alreadyGrantedCount],
  ["granted", bulkGrant.result?.grantedCount],
  ["granted points", bulkGrant.result?.grantedPoints],
  ["failed", bulkGrant.result?.failedCount],
  ["not run", bulkGrant.result?.notRunCount],
  ["submitter", bulkGrant.submitter && callerText(bulkGrant.submitter)],
  ["started by", bulkGrant.starter && callerText(bulkGrant.starter)],
  ["approvals", approvalCounts(bulkGrant)],
  ["source", bulkGrant.source],
  ["address", bulkGrant.sourceUrl],
  ["moved to", bulkGrant.movedTo?.name],
  ["failed rows", bulkGrant.failedRowsAt?.url || bulkGrant.failedRowsAt?.name],
  ["reverses", bulkGrant.reversedBulkGrantId],
  ["same content as", bulkGrant.sameContentBulkGrantId],
  ["time", bulkGrant.executeTime],
  ["created", bulkGrant.createTime],
  ["started", bulkGrant.startTime],
  ["ended", bulkGrant.endTime],
  ["counts final", bulkGrant.countsFinalTime],
  ["digest", bulkGrant.digest],
];

const summaryColumns: Columns<Fact> = { summary: ([name]) => name, value: ([, value]) => value };

const revisionColumns: Columns<BulkGrantRevision> = {
  revision: ({ revision }) => revision,
  submitted: ({ submitTime }) => submitTime,
  submitter: ({ submitter }) => submitter && callerText(submitter),
  rows: ({ rowCount }) => rowCount,
  points: ({ totalPoints }) => totalPoints,
  source: ({ source }) => source,
  title: ({ title }) => title,
  "started by": ({ starter }) => starter && callerText(starter),
  cause: ({ cause }) => cause,
  "expire month": ({ expireMonth }) => expireMonth,
};

const actionColumns: Columns<BulkGrant_Action> = {
  time: ({ time }) => time,
  revision: ({ revision }) => revision,
  action: ({ type }) => enumName(BulkGrant_Action_TypeSchema, type),
  by: ({ caller }) => caller && callerText(caller),
  reason: ({ reason }) => reason,
};

const codeColumns: Columns<{ readonly code: string; readonly rowCount: number }> = {
  "failed with": ({ code }) => code,
  rows: ({ rowCount }) => rowCount,
};
