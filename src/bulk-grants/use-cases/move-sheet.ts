/** The use case that moves a sheet out of the way of the next pick-up. */

import type { Deps } from "../ports/deps.ts";
import type { BulkGrantName, SheetAddress } from "../rules/bulk-grant.ts";
import { changeBulkGrant } from "./bulk-grant-record.ts";

/** A sheet of a source, and the bulk grant to which it was submitted, if it was. */
interface MovedSheet {
  readonly source: string;
  readonly to: "done" | "failed";
  readonly bulkGrant: BulkGrantName | undefined;
}

/**
 * Moves the sheet, and keeps in the bulk grant whose revision it is where it is then, so that
 * messages lead there. Returns where; undefined when the sheet is not there any more.
 */
export async function moveSheet(
  deps: Pick<Deps, "engine" | "bulkSources">,
  { source, to, bulkGrant }: MovedSheet,
): Promise<SheetAddress | undefined> {
  const movedTo = await deps.bulkSources.move(source, to);
  if (movedTo && bulkGrant) {
    await changeBulkGrant(deps, bulkGrant, (record) =>
      record.revision.source === source ? { ...record, movedTo } : record,
    );
  }
  return movedTo;
}
