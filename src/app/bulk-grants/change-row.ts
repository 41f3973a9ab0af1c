/** Reads and changes the record of a bulk grant. */
import type { BulkGrant } from "../../domain/bulk-grant.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkGrantRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";

/** Names a bulk grant. */
export interface BulkGrantName {
  readonly programId: string;
  readonly bulkGrantId: string;
}

/** Reads a bulk grant, strongly consistent. Refusal: BULK_GRANT_NOT_FOUND. */
export async function readBulkGrant(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId }: BulkGrantName,
): Promise<BulkGrant> {
  const found = await reader.get(bulkGrantRef(programId, bulkGrantId));
  if (!found) throw bulkGrantNotFound(bulkGrantId);
  return found.value;
}

/**
 * Writes what `change` makes of the record, in one transaction; nothing when that is the same
 * record. Refusals: BULK_GRANT_NOT_FOUND, and those of `change`.
 */
export async function changeRow(
  deps: Pick<Deps, "engine">,
  { programId, bulkGrantId, deadline }: BulkGrantName & { readonly deadline?: number | undefined },
  change: (row: BulkGrant, now: Instant) => BulkGrant,
): Promise<{ readonly row: BulkGrant; readonly changed: boolean }> {
  const ref = bulkGrantRef(programId, bulkGrantId);
  const changed = await changeRecord(deps, { ref, deadline }, (before, { wall }) => {
    if (!before) throw bulkGrantNotFound(bulkGrantId);
    return change(before, wall);
  });
  return { row: changed.record, changed: changed.isChanged };
}

const bulkGrantNotFound = (bulkGrantId: string) =>
  new DomainError("BULK_GRANT_NOT_FOUND", `there is no bulk grant ${bulkGrantId}`);
