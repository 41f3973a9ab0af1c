/** The commands about bulk grants. */
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type BulkGrant,
  type BulkGrantRow,
  BulkGrantService,
  ExportBulkGrantAuditRequestSchema,
  ExportFailedBulkGrantRowsRequestSchema,
} from "@meguri/client/bulk-grants";
import { approve, reject } from "./bulk-decisions.ts";
import { diff } from "./bulk-diff.ts";
import { reverse } from "./bulk-reverse.ts";
import { check, digest, submit } from "./bulk-sheets.ts";
import { show } from "./bulk-show.ts";
import { aboutBulkGrant, stateText } from "./bulk-text.ts";
import { watch } from "./bulk-watch.ts";
import { type Commands, lists, runs, says } from "./command.ts";
import { type Io, write } from "./io.ts";
import { bulkGrant, changeReason, program, timeFormat } from "./options.ts";

const { method } = BulkGrantService;

/** The names of the columns of a sheet. The byte order mark tells Excel that it is UTF-8. */
const header = "user_id,points,reason\r\n";
const byteOrderMark = "\uFEFF";

/** The inputs, the example and the text of a command that changes a bulk grant by its id alone. */
const changeOf = (name: string) => ({
  takes: [bulkGrant, program, changeReason],
  examples: [`meguri bulk ${name} spring`],
  text: ({ bulkGrant }: { readonly bulkGrant?: BulkGrant | undefined }) =>
    `${aboutBulkGrant(bulkGrant)}\n`,
});

export const bulk: Commands = {
  template: runs(EmptySchema, {
    summary: "print a sheet to be filled in",
    description: "Prints a sheet with the names of the columns, to be filled in by any program.",
    takes: [],
    examples: ["meguri bulk template > sheet.csv"],
    run: ({ out }) => out.value({ csv: header }, out.isTerminal ? header : byteOrderMark + header),
  }),
  check,
  submit,
  digest,
  approve,
  reject,
  watch,

  list: lists<BulkGrant>(method.listBulkGrants, {
    summary: "list bulk grants, newest first",
    description: "Lists the bulk grants of a program by the time of their first submission.",
    takes: [
      "--state <state> = state: only those in this state",
      `--since <time> = createTimeFrom: only those from ${timeFormat}`,
      "--until <time> = createTimeBefore: only those before this time",
      program,
    ],
    examples: [
      "meguri bulk list --state AWAITING_APPROVAL",
      "meguri bulk list --since 2026-12-01T00:00+09:00",
    ],
    columns: [
      "bulk grant: bulkGrantId",
      { state: stateText },
      "rows: rowCount, points: totalPoints, submitter, created: createTime",
      { title: ({ title, request }) => request?.text ?? title },
      { details: ({ details }) => details[0] },
    ],
    isFolded: true,
  }),

  show,

  rows: lists<BulkGrantRow>(method.listBulkGrantRows, {
    summary: "list the rows of a bulk grant",
    description: "Lists the rows of a revision in the order of the sheet.",
    takes: [
      bulkGrant,
      program,
      "--revision <number> = revision: of an earlier revision; the current one by default",
      "--state <state> = state: only rows in this state",
    ],
    examples: ["meguri bulk rows spring --state FAILED"],
    columns: [
      "line, user: userId",
      { points: ({ points, rawPoints }) => points || rawPoints },
      "state, code: problems.code, expire month: expireMonth, reason",
      { problem: ({ problems }) => problems.map(({ message }) => message).join("; ") },
    ],
  }),

  diff,

  "export-failed": runs(ExportFailedBulkGrantRowsRequestSchema, {
    summary: "write the rows that were not granted as a sheet",
    description:
      "Writes the rows that are wrong, were refused or not run as CSV, which can be corrected " +
      "and submitted to the same bulk grant. The sheet is complete if the exit code is 0.",
    takes: [bulkGrant, program],
    examples: ["meguri bulk export-failed spring > failed.csv"],
    run: ({ meguri, io, call }, request) =>
      writeChunks(io, meguri.bulkGrants.exportFailedBulkGrantRows(request, call)),
  }),

  audit: runs(ExportBulkGrantAuditRequestSchema, {
    summary: "write who got what, and by whose approval",
    description:
      "Writes the rows of all revisions as CSV, with what became of each, the number of the " +
      "ledger entry that granted it, and who approved its revision. The CSV is complete if the " +
      "exit code is 0.",
    takes: [bulkGrant, program],
    examples: ["meguri bulk audit spring > audit.csv"],
    run: ({ meguri, io, call }, request) =>
      writeChunks(io, meguri.bulkGrants.exportBulkGrantAudit(request, call)),
  }),

  retry: says(method.retryBulkGrant, {
    summary: "run the failed rows again",
    description: "Runs the failed rows of a bulk grant that is DONE_WITH_FAILURES again.",
    ...changeOf("retry"),
  }),
  pause: says(method.pauseBulkGrant, {
    summary: "stop a run after the rows under way",
    description: "Stops a bulk grant after the rows under way, until meguri bulk resume.",
    ...changeOf("pause"),
  }),
  resume: says(method.resumeBulkGrant, {
    summary: "go on after a pause",
    description: "Ends the pause of a bulk grant.",
    ...changeOf("resume"),
  }),
  cancel: says(method.cancelBulkGrant, {
    summary: "end a bulk grant before it is done",
    description:
      "Cancels a bulk grant. One that runs stops within two seconds, and ends about ten later.",
    ...changeOf("cancel"),
  }),
  reverse,
};

async function writeChunks(
  { stdout }: Io,
  chunks: AsyncIterable<{ readonly csvChunk: Uint8Array }>,
): Promise<void> {
  for await (const { csvChunk } of chunks) await write(stdout, csvChunk);
}
