/** The commands about changes of a program's bulk rules: list, approve, reject. */
import { toJsonString } from "@bufbuild/protobuf";
import {
  ApproveBulkRulesResponseSchema,
  type Program_BulkRulesChange as Change,
  Program_BulkRulesChangeSchema as ChangeSchema,
  type Program,
  type Program_BulkRules,
  Program_BulkRulesSchema,
  RejectBulkRulesResponseSchema,
  Program_BulkRulesChange_StateSchema as StateSchema,
} from "@meguri/client/programs";
import { type AddCommand, examples } from "./action.ts";
import { callerText } from "./callers.ts";
import { confirm } from "./confirm.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { write } from "./io.ts";
import { changeReasonOption, enumName } from "./options.ts";
import type { Cell, Columns } from "./output.ts";
import { pagesOf } from "./pages.ts";
import type { Session } from "./session.ts";

const rulesText = (rules: Program_BulkRules | undefined): string =>
  rules ? toJsonString(Program_BulkRulesSchema, rules) : "";

const columns: Columns<Change> = {
  change: ({ number }) => number,
  state: ({ state }) => enumName(StateSchema, state),
  proposed: ({ proposeTime }) => proposeTime,
  by: ({ proposer }) => proposer && callerText(proposer),
  approved: ({ approvals }) =>
    approvals.map(({ caller }) => (caller ? callerText(caller) : "")).join(", "),
  "in force from": ({ effectiveTime }) => effectiveTime,
  "ended by": ({ end }) => end?.caller && callerText(end.caller),
  before: ({ previousBulkRules }) => rulesText(previousBulkRules),
  after: ({ bulkRules }) => rulesText(bulkRules),
};

export const addRules: AddCommand = (parent, inSession) => {
  parent
    .command("rules")
    .summary("list the changes of the bulk rules of a program")
    .description("Lists all changes of the bulk rules, the latest first: who, when, from and to.")
    .argument("<id>", "the program")
    .addHelpText("after", examples("meguri program rules shop"))
    .action(
      inSession(async ({ meguri, out, call }, programId) => {
        const pages = pagesOf(async (page) => {
          const request = { programId, ...page };
          const answer = await meguri.programs.listBulkRulesChanges(request, call);
          return [answer.bulkRulesChanges, answer.nextPageToken];
        });
        await out.list(ChangeSchema, pages, columns);
      }),
    );
};

export const addApproveRules: AddCommand = (parent, inSession) => {
  parent
    .command("approve")
    .summary("approve bulk rules that somebody else has proposed")
    .description(
      "Shows the latest change of the bulk rules, and asks. Without a terminal, and with --json, " +
        "it needs the digest as an option. The proposer cannot approve.",
    )
    .argument("<id>", "the program")
    .option("--digest <digest>", "the digest of what was read; then it does not ask")
    .addOption(changeReasonOption())
    .addHelpText("after", examples("MEGURI_CALLER=mika meguri program approve shop"))
    .action(
      inSession(async (session, programId, { reason = "", ...options }) => {
        const { meguri, out, call } = session;
        const digest = options.digest ?? (await askFor(session, programId, "Approve"));
        if (digest === undefined) return;
        const answer = await meguri.programs.approveBulkRules({ programId, digest, reason }, call);
        await out.message(ApproveBulkRulesResponseSchema, answer, ({ program }) =>
          aboutRules(program),
        );
      }),
    );
};

export const addRejectRules: AddCommand = (parent, inSession) => {
  parent
    .command("reject")
    .summary("end a change of bulk rules before it is in force")
    .description(
      "Rejects bulk rules that are proposed, or cancels approved ones that wait. Shows them and " +
        "asks, as program approve does.",
    )
    .argument("<id>", "the program")
    .option("--digest <digest>", "the digest of what was read; then it does not ask")
    .addOption(changeReasonOption())
    .addHelpText("after", examples("meguri program reject shop --reason 'too high'"))
    .action(
      inSession(async (session, programId, { reason = "", ...options }) => {
        const { meguri, out, call } = session;
        const digest = options.digest ?? (await askFor(session, programId, "Reject"));
        if (digest === undefined) return;
        const answer = await meguri.programs.rejectBulkRules({ programId, digest, reason }, call);
        await out.message(RejectBulkRulesResponseSchema, answer, ({ program }) =>
          aboutRules(program),
        );
      }),
    );
};

/** One line: the latest change of the rules, and its state; empty for the default rules. */
export function aboutRules(program: Program | undefined): string {
  const change = program?.bulkRulesChange;
  if (!change) return "";
  const { number, state, approvals, requiredApprovalCount } = change;
  const what = `bulk rules of ${program.programId}: change ${number}`;
  const counts = `${approvals.length} of ${counted(requiredApprovalCount, "approval")}`;
  return `${what} is ${enumName(StateSchema, state)}, ${counts}\n`;
}

/** Shows the latest change, and returns its digest if the person says yes. */
async function askFor(
  session: Session,
  programId: string,
  verb: string,
): Promise<string | undefined> {
  const { meguri, out, io, call } = session;
  const { program } = await meguri.programs.getProgram({ programId }, call);
  const change = program?.bulkRulesChange;
  if (!change) throw new UsageError(`the bulk rules of ${programId} were never changed`);
  if (!io.stdin.isTTY || out.isJson) {
    const where = out.isJson ? "with --json" : "without a terminal";
    throw new UsageError(`${where}, it needs --digest; here it is ${change.digest}`);
  }
  const shown = Object.entries(columns).map(([name, cell]): Cell[] => [name, cell(change)]);
  await write(io.stderr, out.table([...shown, ["digest", change.digest]]));
  if (await confirm(io, `${verb} change ${change.number}?`)) return change.digest;
  await out.note("nothing was done");
  session.exitCode = exitCodes.refused;
  return undefined;
}
