/** The command that approves a bulk grant, after its content was shown. */
import {
  ApproveBulkGrantResponseSchema,
  type BulkGrant,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { nextSteps } from "./bulk-ended.ts";
import { readSummary, summaryCells } from "./bulk-summary.ts";
import { aboutBulkGrant, approvalCounts, commandFor, stateText } from "./bulk-text.ts";
import { callerText } from "./callers.ts";
import { confirm } from "./confirm.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { write } from "./io.ts";
import { changeReasonOption, programOption } from "./options.ts";
import { type Cell, printable } from "./output.ts";
import type { Session } from "./session.ts";

export const addApprove: AddCommand = (parent, inSession) => {
  parent
    .command("approve")
    .summary("approve a bulk grant of somebody else")
    .description(
      "Approves exactly what was checked: it shows the summary with its warnings and the digest, " +
        "and asks. Without a terminal, and with --json, it needs the digest as an option, and " +
        "approves nothing else. The submitter cannot approve.",
    )
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .option("--digest <digest>", "the digest of what was checked; then it does not ask")
    .addOption(changeReasonOption())
    .addHelpText("after", examples("MEGURI_CALLER=mika meguri bulk approve spring"))
    .action(
      inSession(async (session, bulkGrantId, { program: programId, reason = "", ...options }) => {
        const { meguri, out, io, call } = session;
        const name = { programId, bulkGrantId };
        const { bulkGrant } = await meguri.bulkGrants.getBulkGrant(name, call);
        if (bulkGrant === undefined) return;
        if (!out.isJson) {
          const summary = await readSummary(session, bulkGrant);
          const cells = [...facts(bulkGrant), ...(summary ? summaryCells(summary) : [])];
          await write(io.stderr, out.table([...cells, ["digest", bulkGrant.digest]]));
        }
        const digest = options.digest ?? (await askFor(session, bulkGrant));
        if (digest === undefined) {
          await out.note("not approved");
          session.exitCode = exitCodes.refused;
          return;
        }
        const answer = await meguri.bulkGrants.approveBulkGrant({ ...name, digest, reason }, call);
        await out.message(
          ApproveBulkGrantResponseSchema,
          answer,
          () => `${aboutBulkGrant(answer.bulkGrant)}\n`,
        );
      }),
    );
};

const facts = (bulkGrant: BulkGrant): Cell[][] => [
  ["title", bulkGrant.title],
  ["cause", bulkGrant.cause],
  ["state", stateText(bulkGrant)],
  ["revision", bulkGrant.revision],
  ["rows", bulkGrant.rowCount],
  ["points", bulkGrant.totalPoints],
  ["expire month", bulkGrant.expireMonth],
  ["already granted", bulkGrant.alreadyGrantedCount],
  ["submitter", bulkGrant.submitter && callerText(bulkGrant.submitter)],
  ["started by", bulkGrant.starter && callerText(bulkGrant.starter)],
  ["time", bulkGrant.executeTime ?? "as soon as it is approved"],
  ["approvals", approvalCounts(bulkGrant)],
  ["reverses", bulkGrant.reversedBulkGrantId],
  ["same content as", bulkGrant.sameContentBulkGrantId],
];

/** Returns the digest if it can be approved and the person says yes. */
async function askFor(session: Session, bulkGrant: BulkGrant): Promise<string | undefined> {
  const { io, out } = session;
  const { digest, state } = bulkGrant;
  if (!io.stdin.isTTY || out.isJson) {
    const where = out.isJson ? "with --json" : "without a terminal";
    throw new UsageError(`${where}, bulk approve needs --digest; here it is ${digest}`);
  }
  if (state !== State.AWAITING_APPROVAL) {
    await out.note(`a bulk grant that is ${stateText(bulkGrant)} cannot be approved`);
    const steps =
      state === State.VALIDATING
        ? [`wait until it is checked: ${commandFor(bulkGrant, "watch")}`]
        : await nextSteps(session, bulkGrant);
    for (const line of steps) await out.note(line);
    return undefined;
  }
  return (await confirm(io, questionOf(bulkGrant))) ? digest : undefined;
}

const questionOf = ({ reversedBulkGrantId, totalPoints }: BulkGrant): string =>
  reversedBulkGrantId
    ? printable(
        `Approve to take back up to ${counted(totalPoints, "point")} of ${reversedBulkGrantId}?`,
      )
    : `Approve ${counted(totalPoints, "point")}?`;
