/** Rebuilds the key of an event from its ledger entry, so that the event cannot happen again. */
import { noCaller } from "../../domain/caller.ts";
import { expiryParameters } from "../../domain/early-expiry.ts";
import { type EventKey, eventName, type LedgerEntry } from "../../domain/ledger.ts";
import { monthAt } from "../../domain/month.ts";
import { bulkGrantIdOf, rowHash } from "../bulk-grants/execute-row.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";
import { programRef, reservationRef } from "../ports/records.ts";
import { requestHash } from "../shared/idempotency.ts";

/** The number of items of one read of a ledger. */
const pageSize = 500;

/**
 * Returns the key with the hash of the request that wrote the entry. An entry does not have every
 * parameter of its request: the hash of a use is that of one without `allow_partial`, that of a
 * grant is one without an `expire_month` that says what it would be anyway, and a refund has none.
 * The same call with other parameters is refused as ID_REUSED, so nothing happens twice.
 */
export async function rebuildEventKey(
  deps: Pick<Deps, "reader">,
  account: AccountName,
  entry: LedgerEntry,
): Promise<EventKey> {
  let reversedPoints = 0;
  let availablePoints = entry.availablePoints;
  const name = eventName(entry.event);
  const pages = allPages(pageSize, (page) => deps.reader.storedEntries(account, page));
  for await (const entries of pages) {
    for (const each of entries) {
      if (each.relatedEvent && eventName(each.relatedEvent) === name) reversedPoints += each.points;
      if (eventName(each.event) === name) availablePoints = each.availablePoints;
    }
  }
  return { hash: await hashOf(deps, account, entry), entry, availablePoints, reversedPoints };
}

/** The parameter of points that end early: their bucket is that of an earlier month. */
async function expiryOf(
  { reader }: Pick<Deps, "reader">,
  programId: string,
  { type, changes, createTime, expireTime }: LedgerEntry,
) {
  const program = (await reader.get(programRef(programId)))?.value;
  if (!program || expireTime === undefined) return {};
  const { timeZone } = program;
  if (type === "ISSUED" && changes[0]?.month === monthAt(timeZone, createTime)) return {};
  return expiryParameters({ expireMonth: monthAt(timeZone, expireTime) - 1 });
}

async function hashOf(
  deps: Pick<Deps, "reader">,
  { programId, userId }: AccountName,
  entry: LedgerEntry,
): Promise<string> {
  const { event, type, points, reason, cause, caller, relatedEvent } = entry;
  const expiry = () => expiryOf(deps, programId, entry);
  if (event.origin === "r") {
    const reservation = await deps.reader.get(reservationRef(programId, event.eventId));
    return reservation?.value.hash ?? unknownHash(event.eventId);
  }
  if (event.origin === "b") {
    if (type === "ISSUED") return rowHash({ points, ...(await expiry()) });
    return rowHash({ reversedBulkGrantId: bulkGrantIdOf(relatedEvent ?? event, userId) });
  }
  const hash = (operation: string, parameters: Parameters<typeof requestHash>[2]) =>
    requestHash(operation, caller, { ...parameters, reason, cause });
  switch (type) {
    case "ISSUED":
      return hash("grant", { points, ...(await expiry()) });
    case "USED":
      return hash("use", { points });
    case "REVOKED":
      return hash("revoke", { grant: relatedEvent && eventName(relatedEvent) });
    case "EXTENDED":
      return hash("extend", {
        grant: relatedEvent && eventName(relatedEvent),
        ...(await expiry()),
      });
    case "FROZEN":
      return hash("freeze", {});
    case "UNFROZEN":
      return hash("unfreeze", {});
    default:
      return unknownHash(event.eventId);
  }
}

/** The hash of no request. */
const unknownHash = (eventId: string): string => requestHash("lost", noCaller, { eventId });
