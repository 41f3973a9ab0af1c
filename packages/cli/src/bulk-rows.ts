/** The commands that read the rows of a bulk grant. */
import {
  type BulkGrantRow,
  BulkGrantRow_StateSchema,
  BulkGrantRowSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { write } from "./io.ts";
import { enumName, enumOption, enumValue, programOption, readCount } from "./options.ts";
import type { Columns } from "./output.ts";
import { pagesOf } from "./pages.ts";

const columns: Columns<BulkGrantRow> = {
  line: ({ line }) => line,
  user: ({ userId }) => userId,
  points: ({ points, rawPoints }) => points || rawPoints,
  state: ({ state }) => enumName(BulkGrantRow_StateSchema, state),
  code: ({ problems }) => problems.map(({ code }) => code).join(", ") || undefined,
  "expire month": ({ expireMonth }) => expireMonth,
  reason: ({ reason }) => reason,
  problem: ({ problems }) => problems.map(({ message }) => message).join("; ") || undefined,
};

export const addRows: AddCommand = (parent, inSession) => {
  parent
    .command("rows")
    .summary("list the rows of a bulk grant")
    .description("Lists the rows of a revision in the order of the sheet.")
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .option(
      "--revision <number>",
      "of an earlier revision; the current one by default",
      readCount,
      0,
    )
    .addOption(enumOption("--state <state>", "only rows in this state", BulkGrantRow_StateSchema))
    .addHelpText("after", examples("meguri bulk rows spring --state FAILED"))
    .action(
      inSession(async ({ meguri, out, call }, bulkGrantId, options) => {
        const { program: programId, revision, state } = options;
        const filter = { revision, state: enumValue(BulkGrantRow_StateSchema, state) };
        const pages = pagesOf(async (page) => {
          const request = { programId, bulkGrantId, ...filter, ...page };
          const answer = await meguri.bulkGrants.listBulkGrantRows(request, call);
          return [answer.rows, answer.nextPageToken];
        });
        await out.list(BulkGrantRowSchema, pages, columns);
      }),
    );
};

export const addExportFailed: AddCommand = (parent, inSession) => {
  parent
    .command("export-failed")
    .summary("write the rows that were not granted as a sheet")
    .description(
      "Writes the rows that are wrong, were refused or not run as CSV, which can be corrected " +
        "and submitted to the same bulk grant. The sheet is complete if the exit code is 0.",
    )
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .addHelpText("after", examples("meguri bulk export-failed spring > failed.csv"))
    .action(
      inSession(async ({ meguri, io, call }, bulkGrantId, { program: programId }) => {
        const name = { programId, bulkGrantId };
        for await (const { csvChunk } of meguri.bulkGrants.exportFailedBulkGrantRows(name, call)) {
          await write(io.stdout, csvChunk);
        }
      }),
    );
};

export const addAudit: AddCommand = (parent, inSession) => {
  parent
    .command("audit")
    .summary("write who got what, and by whose approval")
    .description(
      "Writes the rows of all revisions as CSV, with what became of each, the number of the " +
        "ledger entry that granted it, and who approved its revision. The CSV is complete if the " +
        "exit code is 0.",
    )
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .addHelpText("after", examples("meguri bulk audit spring > audit.csv"))
    .action(
      inSession(async ({ meguri, io, call }, bulkGrantId, { program: programId }) => {
        const name = { programId, bulkGrantId };
        for await (const { csvChunk } of meguri.bulkGrants.exportBulkGrantAudit(name, call)) {
          await write(io.stdout, csvChunk);
        }
      }),
    );
};
