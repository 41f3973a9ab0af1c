/** The commands about points programs. */
import { type DescMessage, fromJsonString, type MessageShape } from "@bufbuild/protobuf";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import {
  CreateProgramResponseSchema,
  type Program,
  Program_BulkRulesSchema,
  Program_NoticesSchema,
  ProgramSchema,
  UpdateProgramResponseSchema,
} from "@meguri/client/programs";
import { type AddCommand, examples } from "./action.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./errors.ts";
import { readCount } from "./options.ts";
import type { Columns } from "./output.ts";
import { pagesOf } from "./pages.ts";
import { aboutRules, addApproveRules, addRejectRules, addRules } from "./program-rules.ts";

export const addProgram: AddCommand = (parent, inSession) => {
  const program = parent
    .command("program")
    .summary("create, list and change programs")
    .description("Points programs: a time zone and a lifetime of points, shared by accounts.");
  const commands = [addCreate, addList, addUpdate, addRules, addApproveRules, addRejectRules];
  for (const add of commands) add(program, inSession);
};

const addCreate: AddCommand = (parent, inSession) => {
  parent
    .command("create")
    .summary("create a program")
    .description("Creates a program. Its id and its time zone never change afterwards.")
    .argument("<id>", "the id: lower-case letters, digits and hyphens")
    .option("--time-zone <zone>", "where its months begin", "Asia/Tokyo")
    .option("--lifetime-months <months>", "how long points live, 1 to 36", readCount, 12)
    .option("--bulk-rules <json>", "limits and approvals", readJson(Program_BulkRulesSchema))
    .addHelpText("after", examples("meguri program create shop --lifetime-months 24"))
    .action(
      inSession(async ({ meguri, out, call }, programId, { bulkRules, ...options }) => {
        const rules = bulkRules && { bulkRules };
        const answer = await meguri.programs.createProgram(
          { programId, ...options, ...rules },
          call,
        );
        await out.message(CreateProgramResponseSchema, answer, ({ program, replayed }) =>
          replayed
            ? `${programId} existed already: ${about(program)}`
            : `created ${about(program)}`,
        );
      }),
    );
};

const columns: Columns<Program> = {
  program: ({ programId }) => programId,
  zone: ({ timeZone }) => timeZone,
  months: ({ lifetimeMonths }) => lifetimeMonths,
  created: ({ createTime }) => createTime,
  "reservations paused": ({ reservationPause }) => reservationPause?.time,
};

const addList: AddCommand = (parent, inSession) => {
  parent
    .command("list")
    .summary("list all programs")
    .description("Lists all programs in the order of their ids.")
    .addHelpText("after", examples("meguri program list"))
    .action(
      inSession(async ({ meguri, out, call }) => {
        const pages = pagesOf(async (page) => {
          const answer = await meguri.programs.listPrograms(page, call);
          return [answer.programs, answer.nextPageToken];
        });
        await out.list(ProgramSchema, pages, columns);
      }),
    );
};

const addUpdate: AddCommand = (parent, inSession) => {
  parent
    .command("update")
    .summary("change a program")
    .description(
      "Changes a program. A longer lifetime takes effect two minutes later, a shorter one is " +
        "refused. Notices and bulk rules are JSON as in docs/call/api, and replace those before; " +
        "other people have to approve bulk rules.",
    )
    .argument("<id>", "the program")
    .option("--lifetime-months <months>", "how long points live, up to 36", readCount)
    .option("--notices <json>", "of what members are notified", readJson(Program_NoticesSchema))
    .option("--bulk-rules <json>", "limits and approvals", readJson(Program_BulkRulesSchema))
    .option("--etag <etag>", "change nothing unless `program list --json` shows this etag")
    .addHelpText(
      "after",
      examples(
        "meguri program update shop --lifetime-months 36",
        `meguri program update shop --notices '{"expiryDays": 7}'`,
        `meguri program update shop --bulk-rules '{"requiredApprovalCount": 2}'`,
      ),
    )
    .action(
      inSession(async ({ meguri, out, call }, programId, options) => {
        const { etag = "", ...changes } = options;
        const paths = ProgramSchema.fields
          .filter(({ localName }) => localName in changes)
          .map(({ name }) => name);
        if (paths.length === 0) throw new UsageError("program update needs a field to change");
        const program = { programId, ...changes, etag };
        const request = { program, updateMask: { paths } };
        const answer = await meguri.programs.updateProgram(request, call);
        await out.message(
          UpdateProgramResponseSchema,
          answer,
          ({ program }) =>
            `updated ${about(program)}${"bulkRules" in changes ? aboutRules(program) : ""}`,
        );
      }),
    );
};

/** Reads a message from JSON, as the API does. */
const readJson =
  <S extends DescMessage>(schema: S) =>
  (text: string): MessageShape<S> => {
    try {
      return fromJsonString(schema, text);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };

function about(program: Program | undefined): string {
  const months = program?.lifetimeChanges.at(-1)?.lifetimeMonths ?? 0;
  return `${program?.programId}: ${program?.timeZone}, ${counted(months, "month")}\n`;
}
