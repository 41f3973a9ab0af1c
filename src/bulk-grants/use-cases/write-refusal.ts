/** The use case that writes what is wrong with a sheet that was refused to its source. */

import { DomainError } from "../../platform/words/errors.ts";
import type { SheetCells } from "../ports/bulk-grants.ts";
import type { WorkerDeps } from "../ports/deps.ts";
import type { BulkGrantName, SheetAddress } from "../rules/bulk-grant.ts";
import { checkSheet } from "./check-sheet.ts";
import { bulkGrantIdIn } from "./read-sheet.ts";
import { errorSheet, warningCell } from "./write-sheet.ts";

/** A sheet of a source that was refused, and why. */
interface RefusedSheet extends BulkGrantName {
  readonly source: string;
  readonly reason: string;
  readonly message: string;
}

const header = ["line", "user_id", "error_code", "error"];

/**
 * Writes all that is wrong with the sheet where people find it; the reason of the refusal when the
 * sheet is right, or cannot be opened. Returns where. May be repeated.
 */
export async function writeRefusal(
  deps: Pick<WorkerDeps, "reader" | "clock" | "bulkSources">,
  sheet: RefusedSheet,
): Promise<SheetAddress> {
  const { bulkGrantId, source, reason, message } = sheet;
  const found = await problemsOf(deps, sheet);
  const rows = found.length > 0 ? found : [["", "", reason, message]];
  async function* cells() {
    yield header;
    yield* rows;
  }
  return deps.bulkSources.writeErrors({ source }, errorSheet(`failed ${bulkGrantId}`, cells()));
}

/** The first problems of a sheet that cannot be read; none of a sheet that can. */
async function problemsOf(
  deps: Pick<WorkerDeps, "reader" | "clock" | "bulkSources">,
  { programId, bulkGrantId: nameOfFile, source, reason }: RefusedSheet,
): Promise<SheetCells[]> {
  if (reason !== "INVALID_REQUEST") return [];
  const open = () => deps.bulkSources.open(source, programId);
  try {
    const { csv: first, encoding: sourceEncoding } = await open();
    const bulkGrantId = (await bulkGrantIdIn(first, sourceEncoding)) ?? nameOfFile;
    const { csv, identity: sender } = await open();
    const name = { programId, bulkGrantId };
    const { problems, warnings } = await checkSheet(deps, name, { csv, sender, sourceEncoding });
    if (problems.length === 0) return [];
    return [
      ...problems.map(({ line, userId, code, message }) => [line, userId, code, message]),
      ...warnings.map((warning) => [
        warning.lines[0] ?? "",
        "",
        warning.code,
        warningCell(warning),
      ]),
    ];
  } catch (error) {
    if (error instanceof DomainError && !error.retryable) return [];
    throw error;
  }
}
