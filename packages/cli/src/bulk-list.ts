/** The command that lists bulk grants. */
import { type BulkGrant, BulkGrant_StateSchema, BulkGrantSchema } from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { stateText, waitsFor } from "./bulk-text.ts";
import { callerText } from "./callers.ts";
import { enumOption, enumValue, programOption, readTime, timeFormat } from "./options.ts";
import type { Columns } from "./output.ts";
import { pagesOf } from "./pages.ts";

const columns: Columns<BulkGrant> = {
  "bulk grant": ({ bulkGrantId }) => bulkGrantId,
  state: (bulkGrant) => stateText(bulkGrant),
  rows: ({ rowCount }) => rowCount,
  points: ({ totalPoints }) => totalPoints,
  submitter: ({ submitter }) => submitter && callerText(submitter),
  created: ({ createTime }) => createTime,
  "waits for": (bulkGrant) => waitsFor(bulkGrant),
  title: ({ title }) => title,
};

export const addBulkList: AddCommand = (parent, inSession) => {
  parent
    .command("list")
    .summary("list bulk grants, newest first")
    .description("Lists the bulk grants of a program by the time of their first submission.")
    .addOption(enumOption("--state <state>", "only those in this state", BulkGrant_StateSchema))
    .option("--since <time>", `only those from ${timeFormat}`, readTime)
    .option("--until <time>", "only those before this time", readTime)
    .addOption(programOption())
    .addHelpText(
      "after",
      examples(
        "meguri bulk list --state AWAITING_APPROVAL",
        "meguri bulk list --since 2026-12-01T00:00+09:00",
      ),
    )
    .action(
      inSession(async ({ meguri, out, call }, { program: programId, state, since, until }) => {
        const filter = {
          programId,
          state: enumValue(BulkGrant_StateSchema, state),
          ...(since && { createTimeFrom: since }),
          ...(until && { createTimeBefore: until }),
        };
        const pages = pagesOf(async (page) => {
          const answer = await meguri.bulkGrants.listBulkGrants({ ...filter, ...page }, call);
          return [answer.bulkGrants, answer.nextPageToken];
        });
        await out.list(BulkGrantSchema, pages, columns);
      }),
    );
};
