/** The use case that submits the reversal of a bulk grant. */
import { type BulkGrant, finalStates } from "../../domain/bulk-grant.ts";
import { DomainError } from "../../domain/errors.ts";
import { rowsPerBlock, type SheetRow } from "../../domain/sheet.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkRevisionRef } from "../ports/records.ts";
import { readBulkGrant } from "./change-row.ts";
import { grantedRowsOfBlock } from "./queries.ts";
import { type Submission, submitBulkGrant } from "./submit.ts";

/**
 * Submits a bulk grant that revokes what the rows of another one have granted, in all of its
 * revisions, as far as the points are still there. It is validated, approved and reported like any
 * other. Refusals: BULK_GRANT_NOT_FOUND; WRONG_STATE while the other one is active, or when it has
 * granted nothing; INVALID_REQUEST for a reversal of a reversal; those of `submitBulkGrant`.
 */
export async function reverseBulkGrant(
  deps: Parameters<typeof submitBulkGrant>[0],
  submission: Omit<Submission, "reverses" | "source"> & { readonly reverses: string },
): ReturnType<typeof submitBulkGrant> {
  const { programId, reverses } = submission;
  const reversed = await readBulkGrant(deps, { programId, bulkGrantId: reverses });
  if (reversed.revision.reverses !== undefined) {
    throw new DomainError("INVALID_REQUEST", "a reversal cannot be reversed", {
      field: "reversed_bulk_grant_id",
    });
  }
  if (!finalStates.has(reversed.state)) {
    throw new DomainError("WRONG_STATE", `a bulk grant that is ${reversed.state} is not reversed`, {
      state: reversed.state,
    });
  }
  return submitBulkGrant(deps, submission, () => grantedRows(deps, reversed));
}

/** The rows that were granted, revision by revision. A user was granted once, in one of them. */
async function* grantedRows(
  deps: Pick<Deps, "reader">,
  reversed: BulkGrant,
): AsyncGenerator<SheetRow, void> {
  const { programId, bulkGrantId } = reversed;
  let line = 1;
  for (let number = 1; number <= reversed.revision.number; number++) {
    const [revision] = await deps.reader.many([bulkRevisionRef(programId, bulkGrantId, number)]);
    if (!revision) continue;
    for (let block = 0; block * rowsPerBlock < revision.rowCount; block++) {
      for (const row of await grantedRowsOfBlock(deps, { ...reversed, revision }, block)) {
        line += 1;
        yield { ...row, line };
      }
    }
  }
  if (line === 1) throw new DomainError("WRONG_STATE", "the bulk grant has granted nothing");
}
