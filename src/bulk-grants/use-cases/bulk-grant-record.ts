/** Reads and changes the record of a bulk grant. */

import { fieldChanges } from "../../acts/rules/act.ts";
import { putAct } from "../../acts/use-cases/acts.ts";
import type { CallLimits } from "../../platform/ports/call.ts";
import type { Now } from "../../platform/ports/clock.ts";
import type { Transaction } from "../../platform/ports/engine.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkActionRef, bulkGrantRef } from "../ports/records.ts";
import type { BulkGrant, BulkGrantName } from "../rules/bulk-grant.ts";
import { hasNeverRun } from "../rules/bulk-grant-changes.ts";
import { putTierPoints, tierRefs } from "./tier-points.ts";

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
 * Writes what `change` makes of the record, in one transaction with the act of an audited call;
 * nothing when that is the same record. Points of a revision that ends without a run are not
 * counted any more. Refusals: BULK_GRANT_NOT_FOUND, and those of `change`.
 */
export function changeBulkGrant(
  { engine }: Pick<Deps, "engine">,
  call: BulkGrantName & CallLimits & { readonly reason?: string },
  change: (record: BulkGrant, now: Instant, tx: Transaction) => BulkGrant,
): Promise<{ record: BulkGrant; isChanged: boolean; now: Now }> {
  const { programId, bulkGrantId } = call;
  const ref = bulkGrantRef(programId, bulkGrantId);
  return engine.transact({
    key: ref,
    readSet: [ref, ...tierRefs(programId)],
    expectAbsent: [],
    call,
    decide(tx, now) {
      const before = tx.get(ref);
      if (!before) throw bulkGrantNotFound(bulkGrantId);
      const changed = change(before, now.wall, tx);
      if (changed === before) return { record: before, isChanged: false, now };
      const { tierPoints: _, ...withoutTierPoints } = changed;
      const record = hasNeverRun(changed) ? withoutTierPoints : changed;
      putBulkGrant(tx, before, record, now.wall);
      putBulkGrantAct(tx, call, now.wall, before, record);
      return { record, isChanged: true, now };
    },
  });
}

/** Puts the record, what it counts, and each action that is new in it as a record of its own. */
export function putBulkGrant(
  tx: Transaction,
  before: BulkGrant | undefined,
  record: BulkGrant,
  now: Instant,
): void {
  const { programId, bulkGrantId, actions, actionCount } = record;
  putTierPoints(tx, before, record, now);
  tx.put(bulkGrantRef(programId, bulkGrantId), record);
  const newActions = actions.slice(actions.length - (actionCount - (before?.actionCount ?? 0)));
  for (const [i, action] of newActions.entries()) {
    const number = actionCount - newActions.length + 1 + i;
    tx.put(bulkActionRef(programId, bulkGrantId, number), action);
  }
}

/** Puts the act of a change or a submission by an audited call. */
export function putBulkGrantAct(
  tx: Transaction,
  { reason = "", ...call }: CallLimits & { readonly reason?: string | undefined },
  now: Instant,
  before: BulkGrant | undefined,
  record: BulkGrant,
): void {
  const { programId, bulkGrantId, revision } = record;
  const changes = fieldChanges(before ? shown(before) : {}, shown(record));
  const userId = revision.request?.userId;
  const object = { objectType: "bulk_grant", objectId: bulkGrantId, userId } as const;
  putAct(tx, call, now, { programId, ...object, changes, reason });
}

/** The values of a bulk grant that people change. Its actions and revisions have the rest. */
const shown = ({ state, revision, approvals, pause, cancelRequest }: BulkGrant) => ({
  state,
  revision: revision.number,
  rows: revision.rowCount,
  points: revision.totalPoints,
  approvals: approvals.length,
  source: revision.source,
  paused: pause !== undefined,
  cancel_requested: cancelRequest !== undefined,
});

const bulkGrantNotFound = (bulkGrantId: string) =>
  new DomainError("BULK_GRANT_NOT_FOUND", `there is no bulk grant ${bulkGrantId}`);
