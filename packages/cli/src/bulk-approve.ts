/** The command that approves a bulk grant, after its content was shown. */
import { ApproveBulkGrantResponseSchema, type BulkGrant } from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { aboutBulkGrant, stateText } from "./bulk-text.ts";
import { callerText } from "./callers.ts";
import { confirm } from "./confirm.ts";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { write } from "./io.ts";
import { changeReasonOption, programOption } from "./options.ts";
import type { Cell } from "./output.ts";
import type { Session } from "./session.ts";

export const addApprove: AddCommand = (parent, inSession) => {
  parent
    .command("approve")
    .summary("approve a bulk grant of somebody else")
    .description(
      "Approves exactly what was checked: it shows rows, points and digest, and asks. Without a " +
        "terminal, and with --json, it needs the digest as an option, and approves nothing else. " +
        "The submitter cannot approve.",
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
        if (!out.isJson) await write(io.stderr, out.table(facts(bulkGrant)));
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
  ["state", stateText(bulkGrant)],
  ["revision", bulkGrant.revision],
  ["rows", bulkGrant.rowCount],
  ["points", bulkGrant.totalPoints],
  ["already granted", bulkGrant.alreadyGrantedCount],
  ["submitter", bulkGrant.submitter && callerText(bulkGrant.submitter)],
  ["time", bulkGrant.executeTime ?? "as soon as it is approved"],
  ["approvals", `${bulkGrant.approvals.length} of ${bulkGrant.requiredApprovalCount}`],
  ["reverses", bulkGrant.reversedBulkGrantId],
  ["same content as", bulkGrant.sameContentBulkGrantId],
  ["digest", bulkGrant.digest],
];

/** Returns the digest if the person says yes. */
async function askFor({ io, out }: Session, bulkGrant: BulkGrant): Promise<string | undefined> {
  const { digest, totalPoints } = bulkGrant;
  if (!io.stdin.isTTY || out.isJson) {
    const where = out.isJson ? "with --json" : "without a terminal";
    throw new UsageError(`${where}, bulk approve needs --digest; here it is ${digest}`);
  }
  return (await confirm(io, `Approve ${totalPoints} points?`)) ? digest : undefined;
}
