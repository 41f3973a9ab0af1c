/** The command that tells whether a sheet is what an approval is asked for. */
import { createHash } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { BulkGrant, SheetCheck } from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { fileHelp, upload } from "./bulk-sheets.ts";
import { commandFor } from "./bulk-text.ts";
import { counted } from "./counted.ts";
import { exitCodes } from "./exit-codes.ts";
import { programOption } from "./options.ts";

export const addDigest: AddCommand = (parent, inSession) => {
  parent
    .command("digest")
    .summary("compare a sheet with what is to be approved")
    .description(
      "Computes what an approval names from a sheet that you have, and compares it with the " +
        "current revision. The exit code is 0 if the sheet is exactly what the revision holds. " +
        "The server reads the rows as it reads those of a submission, and keeps nothing. So the " +
        "caller needs the scope bulk.submit beside bulk.read.",
    )
    .argument("<id>", "the bulk grant")
    .argument("<file>", fileHelp)
    .addOption(programOption())
    .addHelpText("after", examples("meguri bulk digest spring sheet.csv"))
    .action(
      inSession(async (session, bulkGrantId, file, { program: programId }) => {
        const { meguri, out, call } = session;
        const { bulkGrant } = await meguri.bulkGrants.getBulkGrant(
          { programId, bulkGrantId },
          call,
        );
        const header = { programId, bulkGrantId, validateOnly: true };
        const { check } = await upload(session, header, file);
        if (bulkGrant === undefined || check === undefined) return;
        const { rowsDigest } = check;
        const digest = digestOf(bulkGrant, rowsDigest);
        const isSame = digest === bulkGrant.digest;
        const { revision } = bulkGrant;
        await out.value({ digest, rowsDigest, revision, isSame }, `${digest}\n`);
        await out.note(
          isSame
            ? `the sheet is exactly what revision ${revision} holds`
            : differenceText(bulkGrant, check),
        );
        if (!isSame) session.exitCode = exitCodes.refused;
      }),
    );
};

/** The digest of a bulk grant with these rows: docs/grant/bulk-grants.md says over what it is. */
function digestOf(bulkGrant: BulkGrant, rowsDigest: string): string {
  const { executeTime, cause } = bulkGrant;
  const approved = {
    program_id: bulkGrant.programId,
    bulk_grant_id: bulkGrant.bulkGrantId,
    revision: bulkGrant.revision,
    execute_time_ms: executeTime ? timestampMs(executeTime) : null,
    required_approval_count: bulkGrant.requiredApprovalCount,
    reversed_bulk_grant_id: bulkGrant.reversedBulkGrantId || null,
    ...(bulkGrant.expireMonth && { expire_month: bulkGrant.expireMonth }),
    rows_digest: rowsDigest,
    ...(cause && { cause }),
  };
  return createHash("sha256").update(JSON.stringify(approved)).digest("base64url");
}

function differenceText(bulkGrant: BulkGrant, check: SheetCheck): string {
  if (check.rowsDigest === bulkGrant.rowsDigest) {
    return `the rows are those of revision ${bulkGrant.revision}, but its digest is another one`;
  }
  if (check.rowCount === 0) {
    return `the sheet cannot be read: ${check.problems.map(({ message }) => message).join("; ")}`;
  }
  if (check.rowCount === bulkGrant.rowCount && check.totalPoints === bulkGrant.totalPoints) {
    return (
      `the sheet is not what revision ${bulkGrant.revision} holds: it has as many rows and ` +
      `points, but other users, other reasons, or another order; compare it with: ` +
      commandFor(bulkGrant, "rows")
    );
  }
  return (
    `the sheet is not what revision ${bulkGrant.revision} holds: it has ` +
    `${counted(check.rowCount, "row")} and ${counted(check.totalPoints, "point")}, ` +
    `the revision ${bulkGrant.rowCount} and ${bulkGrant.totalPoints}`
  );
}
