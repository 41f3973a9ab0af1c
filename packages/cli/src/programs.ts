/** The commands about points programs, and about changes of their rules. */
import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import {
  type Program_RulesChange as Change,
  Program_RulesChangeSchema as ChangeSchema,
  Program_RulesChange_State as ChangeState,
  type Program,
  type Program_Rules,
  Program_RulesSchema,
  ProgramSchema,
  ProgramService,
  Program_RulesChange_StateSchema as StateSchema,
} from "@meguri/client/programs";
import { type Commands, lists, says, type Values } from "./command.ts";
import { agree, askReason, expectTerminal, refuse } from "./confirm.ts";
import { UsageError } from "./errors.ts";
import { type ColumnPaths, columnsOf, linesOf } from "./fields.ts";
import { write } from "./io.ts";
import { cutToWidth, maxNameWidth } from "./layout.ts";
import { changeReason } from "./options.ts";
import { callerText, enumName, formatTime, printable, quantity } from "./output.ts";
import type { Session } from "./session.ts";

const { method } = ProgramService;

/** The fields of a program that are to be changed. */
const maskOf = (values: Values): string[] =>
  ProgramSchema.fields
    .filter(({ localName }) => localName !== "etag" && values[localName] !== undefined)
    .map(({ name }) => name);

/** The fields that an update changes at once. The other ones are rules, which are approved. */
const withoutApproval: ReadonlySet<string> = new Set(["reservation_shard_count", "balance_limits"]);

function about(program: Program | undefined): string {
  const months = program?.lifetimeChanges.at(-1)?.lifetimeMonths ?? 0;
  return `${program?.programId}: ${program?.timeZone}, ${quantity(months, "month")}\n`;
}

/** Notices of nothing are shown as that, and not as nothing. */
const allFields = { alwaysEmitImplicit: true };

/** Those of the rules that differ from the others, by the names of the API. */
function differingRules(rules: Program_Rules | undefined, others: Program_Rules | undefined) {
  const [fields, unlike] = [rules, others].map((each) =>
    each ? (toJson(Program_RulesSchema, each, allFields) as Record<string, JsonValue>) : {},
  ) as [Record<string, JsonValue>, Record<string, JsonValue>];
  const differing = Object.entries(fields).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(unlike[name]),
  );
  return Object.fromEntries(differing);
}

const programId = "<id> = programId: the program";

const isOpen = ({ state }: Change): boolean => state === ChangeState.PROPOSED;

/** Whether a change waits for its last approval also when somebody wants to give it. */
const isDelayed = (change: Change): boolean => isOpen(change) && change.delayed;

const columns: ColumnPaths<Change> = [
  "change: number, state, proposed: proposeTime, by: proposer, needed: requiredApprovalCount",
  "approved: approvals.caller, reason, in force from: effectiveTime, ended by: end.caller",
  { "last approval from": (change) => (isDelayed(change) ? change.finalApprovalTime : undefined) },
  {
    before: ({ previousRules, rules }) => JSON.stringify(differingRules(previousRules, rules)),
    after: ({ previousRules, rules }) => JSON.stringify(differingRules(rules, previousRules)),
  },
];

/** A decision about a change as its question names it. */
function decisionText(verb: string, programId: string, change: Change): string {
  const { number, rules, previousRules, proposer } = change;
  const changed = Object.keys(differingRules(rules, previousRules)).join(", ");
  const by = cutToWidth(printable(proposer ? callerText(proposer) : ""), maxNameWidth);
  return `${verb} change ${number} of ${programId} (${changed}), proposed by ${by}?`;
}

/** The inputs and the question of a command that decides about the latest change of the rules. */
const decision = (verb: "approve" | "reject") => ({
  takes: [
    programId,
    "--digest <digest> = digest: the digest of what was read; then it does not ask",
    changeReason,
  ],
  async prepare(
    session: Session,
    request: { readonly programId: string; digest: string; reason: string },
    { digest }: Values,
  ): Promise<boolean> {
    if (digest !== undefined) return true;
    const { meguri, out, io, call } = session;
    const { programId } = request;
    const { program } = await meguri.programs.getProgram({ programId }, call);
    const change = program?.rulesChange;
    if (!change) throw new UsageError(`the rules of ${programId} were never changed`);
    request.digest = change.digest;
    if (!isOpen(change))
      return refuse(session, `nothing to ${verb}: ${aboutRules(program)}`.trim());
    expectTerminal(session, `it needs --digest; here it is ${change.digest}`);
    const shown = linesOf(columnsOf<Change>(ChangeSchema, columns), change);
    await write(io.stderr, out.table([...shown, ["digest", change.digest]]));
    const question = decisionText(verb === "approve" ? "Approve" : "Reject", programId, change);
    const otherwise = "nothing was done";
    return (
      (await agree(session, question, otherwise)) &&
      (await askReason(session, request, { isNeeded: verb === "reject", otherwise }))
    );
  },
  text: ({ program }: { readonly program?: Program | undefined }) => aboutRules(program),
});

export const programs: Commands = {
  create: says(method.createProgram, {
    summary: "create a program",
    description: "Creates a program. Its id and its time zone never change afterwards.",
    takes: [
      "<id> = programId: the id: lower-case letters, digits and hyphens",
      ["--time-zone <zone> = timeZone: where its months begin", { default: "Asia/Tokyo" }],
      [
        "--lifetime-months <months> = lifetimeMonths: how long points live, 1 to 36",
        { default: 12 },
      ],
      "--bulk-rules <json> = bulkRules: limits and approvals",
    ],
    examples: ["meguri program create shop --lifetime-months 24"],
    text: ({ program, replayed }, { programId }) =>
      replayed ? `${programId} existed already: ${about(program)}` : `created ${about(program)}`,
  }),

  list: lists<Program>(method.listPrograms, {
    summary: "list all programs",
    description: "Lists all programs in the order of their ids.",
    takes: [],
    examples: ["meguri program list"],
    columns: [
      "program: programId, zone: timeZone, months: lifetimeMonths, created: createTime",
      "reservations paused: reservationPause.time",
    ],
  }),

  update: says(method.updateProgram, {
    summary: "change a program",
    description:
      "Changes a program. Other people have to approve a lifetime, notices and bulk rules, " +
      "unless its bulk rules need nobody. A longer lifetime takes effect 18 minutes later, a " +
      "shorter one is refused. Notices, bulk rules and balance limits are JSON as in " +
      "docs/call/api, and replace those before. Nobody has to approve balance limits. A change " +
      "that waits for approvals is replaced only with --etag.",
    takes: [
      "<id> = program.programId: the program",
      "--lifetime-months <months> = program.lifetimeMonths: how long points live, up to 36",
      "--notices <json> = program.notices: of what members are notified",
      "--bulk-rules <json> = program.bulkRules: limits and approvals",
      "--balance-limits <json> = program.balanceLimits: whose crossings are events",
      "--reservation-shard-count <n> = program.reservationShardCount: 16, 64 or 256; never lowered",
      changeReason,
      "--etag <etag> = program.etag: change nothing unless `program list --json` shows this etag",
    ],
    examples: [
      "meguri program update shop --lifetime-months 36",
      `meguri program update shop --notices '{"expiryDays": 7}'`,
      `meguri program update shop --balance-limits '{"below": [100], "above": [10000]}'`,
      `meguri program update shop --bulk-rules '{"requiredApprovalCount": 2}'`,
    ],
    check: (values) => maskOf(values).length === 0 && "program update needs a field to change",
    prepare(_, request, values) {
      request.updateMask = create(FieldMaskSchema, { paths: maskOf(values) });
      return true;
    },
    text: ({ program }, { updateMask }) => {
      const paths = updateMask?.paths ?? [];
      const hasRules = paths.some((path) => !withoutApproval.has(path));
      const change = program?.rulesChange;
      // Of a proposal alone nothing is in force.
      const isProposal =
        !paths.some((path) => withoutApproval.has(path)) && change && isOpen(change);
      const done = isProposal ? "" : `updated ${about(program)}`;
      return `${done}${hasRules ? aboutRules(program) : ""}`;
    },
  }),

  rules: lists<Change>(method.listRulesChanges, {
    summary: "list the changes of the rules of a program",
    description:
      "Lists all changes of lifetime, notices and bulk rules, the latest first: who, when, why, " +
      "from and to.",
    takes: [programId],
    examples: ["meguri program rules shop"],
    columns,
  }),

  approve: says(method.approveRulesChange, {
    summary: "approve rules that somebody else has proposed",
    description:
      "Shows the latest change of the rules, and asks. Without a terminal, and with --json, " +
      "it needs the digest as an option. The proposer cannot approve.",
    examples: ["MEGURI_CALLER=mika meguri program approve shop"],
    ...decision("approve"),
  }),

  reject: says(method.rejectRulesChange, {
    summary: "end a change of rules before it is in force",
    description:
      "Rejects rules that are proposed. Shows them and asks, as program approve does, and for a " +
      "reason.",
    examples: ["meguri program reject shop --reason 'too high'"],
    ...decision("reject"),
  }),
};

/** One line: the latest change of the rules, and its state; empty if they were never changed. */
function aboutRules(program: Program | undefined): string {
  const change = program?.rulesChange;
  if (!change) return "";
  const { number, state, approvals, requiredApprovalCount } = change;
  const what = `rules of ${program.programId}: change ${number}`;
  const counts = `${approvals.length} of ${quantity(requiredApprovalCount, "approval")}`;
  const last = isDelayed(change)
    ? `, the last one from ${formatTime(change.finalApprovalTime)} on`
    : "";
  return `${what} is ${enumName(StateSchema, state)}, ${counts}${last}\n`;
}
