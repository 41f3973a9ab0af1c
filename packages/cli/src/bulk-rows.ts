/** The commands that read the rows of a bulk grant. */
import {
  type BulkGrantRow,
  BulkGrantRow_StateSchema,
  BulkGrantRowSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { write } from "./io.ts";
import { enumName, enumOption, enumValue, programOption } from "./options.ts";
import type { Columns } from "./output.ts";
import { pagesOf } from "./pages.ts";

const columns: Columns<BulkGrantRow> = {
  line: ({ line }) => line,
  user: ({ userId }) => userId,
  points: ({ points, rawPoints }) => points || rawPoints,
  state: ({ state }) => enumName(BulkGrantRow_StateSchema, state),
  code: ({ problem }) => problem?.code,
  reason: ({ reason }) => reason,
  problem: ({ problem }) => problem?.message,
};

export const addRows: AddCommand = (parent, inSession) => {
  parent
    .command("rows")
    .summary("list the rows of a bulk grant")
    .description("Lists the rows of the current revision in the order of the sheet.")
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .addOption(enumOption("--state <state>", "only rows in this state", BulkGrantRow_StateSchema))
    .addHelpText("after", examples("meguri bulk rows spring --state FAILED"))
    .action(
      inSession(async ({ meguri, out, call }, bulkGrantId, { program: programId, state }) => {
        const filter = { state: enumValue(BulkGrantRow_StateSchema, state) };
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
