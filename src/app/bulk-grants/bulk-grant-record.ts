/** Reads and changes the record of a bulk grant. */
import type { BulkGrant, BulkGrantName } from "../../domain/bulk-grant.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkGrantRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";

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
export const changeBulkGrant = (
  deps: Pick<Deps, "engine">,
  { programId, bulkGrantId, deadline }: BulkGrantName & { readonly deadline?: number | undefined },
  change: (record: BulkGrant, now: Instant) => BulkGrant,
) =>
  changeRecord(
    deps,
    { ref: bulkGrantRef(programId, bulkGrantId), deadline },
    (record, { wall }) => {
      if (!record) throw bulkGrantNotFound(bulkGrantId);
      return change(record, wall);
    },
  );

const bulkGrantNotFound = (bulkGrantId: string) =>
  new DomainError("BULK_GRANT_NOT_FOUND", `there is no bulk grant ${bulkGrantId}`);
