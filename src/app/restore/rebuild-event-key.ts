/** Rebuilds the key of an event from its ledger entry, so that the event cannot happen again. */
import { noCaller } from "../../domain/caller.ts";
import { type EventKey, eventName, type LedgerEntry } from "../../domain/ledger.ts";
import { bulkGrantIdOf, rowHash } from "../bulk-grants/execute-row.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";
import { reservationRef } from "../ports/records.ts";
import { requestHash } from "../shared/idempotency.ts";

/** The number of items of one read of a ledger. */
const pageSize = 500;

/**
 * Returns the key with the hash of the request that wrote the entry. An entry does not have every
 * parameter of its request: the hash of a use is that of one without `allow_partial`, and a refund
 * has none. The same call with other parameters is refused as ID_REUSED, so nothing happens twice.
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

async function hashOf(
  { reader }: Pick<Deps, "reader">,
  { programId, userId }: AccountName,
  { event, type, points, reason, cause, caller, relatedEvent }: LedgerEntry,
): Promise<string> {
  if (event.origin === "r") {
    const reservation = await reader.get(reservationRef(programId, event.eventId));
    return reservation?.value.hash ?? unknownHash(event.eventId);
  }
  if (event.origin === "b") {
    if (type === "ISSUED") return rowHash({ points });
    return rowHash({ reversedBulkGrantId: bulkGrantIdOf(relatedEvent ?? event, userId) });
  }
  const hash = (operation: string, parameters: Parameters<typeof requestHash>[2]) =>
    requestHash(operation, caller, { ...parameters, reason, cause });
  switch (type) {
    case "ISSUED":
      return hash("grant", { points });
    case "USED":
      return hash("use", { points });
    case "REVOKED":
      return hash("revoke", { grant: relatedEvent && eventName(relatedEvent) });
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
