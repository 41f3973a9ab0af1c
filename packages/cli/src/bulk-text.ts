/** Sentences about bulk grants. */
import { type BulkGrant, BulkGrant_StateSchema } from "@meguri/client/bulk-grants";
import { enumName } from "./options.ts";
import { printable } from "./output.ts";

/** The state, with the changes that are under way. */
export function stateText({ state, pause, cancelRequest }: BulkGrant): string {
  const name = enumName(BulkGrant_StateSchema, state);
  if (cancelRequest) return `${name}, being cancelled`;
  return pause ? `${name}, paused` : name;
}

/** One line: what the bulk grant is, and its state. */
export function aboutBulkGrant(bulkGrant: BulkGrant | undefined): string {
  if (bulkGrant === undefined) return "";
  const { bulkGrantId, revision, rowCount, totalPoints } = bulkGrant;
  const what = `${rowCount} rows, ${totalPoints} points`;
  return printable(`${bulkGrantId}: ${stateText(bulkGrant)}, revision ${revision}, ${what}`);
}
