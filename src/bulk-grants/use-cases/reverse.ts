/** The use case that submits the reversal of a bulk grant. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkRevisionRef } from "../ports/records.ts";
import { type BulkGrant, finalStates, isRevocation } from "../rules/bulk-grant.ts";
import { rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import { readBulkGrant } from "./bulk-grant-record.ts";
import { rowEventKey } from "./execute-row.ts";
import { type Submission, type Submitted, submitRows } from "./submit.ts";

/**
 * Submits a bulk grant that revokes what the rows of another one have granted, in all of its
 * revisions, as far as the points are still there. It is validated, approved and reported like any
 * other. Refusals: BULK_GRANT_NOT_FOUND; WRONG_STATE while the other one is active, or when it has
 * granted nothing; INVALID_REQUEST for a reversal of what revokes; those of `submitBulkGrant`.
 */
export async function reverseBulkGrant(
  deps: Parameters<typeof submitRows>[0],
  submission: Omit<Submission, "reversedBulkGrantId" | "source" | "request"> & {
    readonly reversedBulkGrantId: string;
  },
): Promise<Submitted> {
  const { programId, reversedBulkGrantId } = submission;
  const reversed = await readBulkGrant(deps, { programId, bulkGrantId: reversedBulkGrantId });
  if (isRevocation(reversed.revision)) {
    throw new DomainError("INVALID_REQUEST", "what has revoked cannot be reversed", {
      field: "reversed_bulk_grant_id",
    });
  }
  if (!finalStates.has(reversed.state)) {
    const first = reversed.cancelRequest
      ? "being cancelled is reversed when the rows under way are counted, in about ten seconds"
      : `${reversed.state} is not reversed; let it end, or cancel it first`;
    throw new DomainError("WRONG_STATE", `a bulk grant that is ${first}`, {
      state: reversed.state,
    });
  }
  return submitRows(deps, submission, grantedRows(deps, reversed));
}

/**
 * The rows that were granted, revision by revision, each user once. Their event keys decide, not
 * the outcomes: a late attempt may have granted a row after the outcomes of its run were counted.
 */
async function* grantedRows(
  deps: Pick<Deps, "reader">,
  { programId, bulkGrantId, revision: { number: last } }: BulkGrant,
): AsyncGenerator<SheetRow, void> {
  const users = new Set<string>();
  for (let number = 1; number <= last; number++) {
    const [revision] = await deps.reader.many([bulkRevisionRef(programId, bulkGrantId, number)]);
    if (!revision) continue;
    for (let block = 0; block * rowsPerBlock < revision.rowCount; block++) {
      const rows = await deps.reader.rowsOfBlock(revision.uploadId, block);
      const valid = rows.filter(({ problems, userId }) => !problems && !users.has(userId));
      const keys = valid.map(({ userId }) => rowEventKey(programId, bulkGrantId, userId));
      const events = await deps.reader.many(keys);
      for (const [i, { userId }] of valid.entries()) {
        const entry = events[i]?.entry;
        if (!entry) continue;
        users.add(userId);
        yield { line: users.size + 1, userId, points: entry.points, reason: entry.reason };
      }
    }
  }
  if (users.size === 0) throw new DomainError("WRONG_STATE", "the bulk grant has granted nothing");
}
