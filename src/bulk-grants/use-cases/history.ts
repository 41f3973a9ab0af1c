/** The use cases that read what was done with a bulk grant: all actions, and all revisions. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Kind, Records, Ref } from "../../platform/ports/records.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkActionRef, bulkRevisionRef } from "../ports/records.ts";
import type { Action, BulkGrantName, Revision } from "../rules/bulk-grant.ts";
import { readBulkGrant } from "./bulk-grant-record.ts";

type ReadDeps = Pick<Deps, "reader">;

/** Lists all actions, oldest first. Refusals: BULK_GRANT_NOT_FOUND, INVALID_REQUEST. */
export async function listActions(
  deps: ReadDeps,
  name: BulkGrantName,
  page: PageRequest,
): Promise<Page<Action>> {
  const { programId, bulkGrantId, actionCount } = await readBulkGrant(deps, name);
  const refOf = (number: number) => bulkActionRef(programId, bulkGrantId, number);
  return numberedPage(deps, actionCount, refOf, page);
}

/** Lists all revisions, the first one first. Refusals: BULK_GRANT_NOT_FOUND, INVALID_REQUEST. */
export async function listRevisions(
  deps: ReadDeps,
  name: BulkGrantName,
  page: PageRequest,
): Promise<Page<Revision>> {
  const { programId, bulkGrantId, revision } = await readBulkGrant(deps, name);
  const refOf = (number: number) => bulkRevisionRef(programId, bulkGrantId, number);
  return numberedPage(deps, revision.number, refOf, page);
}

/** A page of the records that are numbered from 1 to `count`. */
async function numberedPage<K extends Kind>(
  { reader }: ReadDeps,
  count: number,
  refOf: (number: number) => Ref<K>,
  { size, cursor = "1" }: PageRequest,
): Promise<Page<Records[K]>> {
  if (!/^[1-9]\d{0,8}$/.test(cursor) || Number(cursor) > count) {
    throw new DomainError("INVALID_REQUEST", "page_token: is not one of this list", {
      field: "page_token",
    });
  }
  const first = Number(cursor);
  const next = Math.min(first + size, count + 1);
  const numbers = Array.from({ length: next - first }, (_, i) => first + i);
  const found = await reader.many(numbers.map(refOf));
  const items = found.filter((record) => record !== undefined);
  return next > count ? { items } : { items, cursor: String(next) };
}
