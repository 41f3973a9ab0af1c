/** Rebuilds the key of an event from its ledger entry, so that the event cannot happen again. */

import { revokeHash, rowHash } from "../../src/bulk-grants/use-cases/execute-row.ts";
import { captureIdOf, holdIdOf } from "../../src/holds/rules/hold.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { annotationsOf } from "../../src/platform/words/annotations.ts";
import { noCaller } from "../../src/platform/words/caller.ts";
import { monthAt } from "../../src/platform/words/month.ts";
import { oneOf, requestHash } from "../../src/platform/work/idempotency.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { programRef } from "../../src/points/ports/records.ts";
import { lifetimeAt } from "../../src/points/rules/account.ts";
import { expiryParameters } from "../../src/points/rules/early-expiry.ts";
import { type EventKey, eventName, type LedgerEntry } from "../../src/points/rules/ledger.ts";
import type { ExpiredPointsPolicy } from "../../src/points/rules/points.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import { readLedger } from "./read-ledger.ts";
import { rebuildCapture } from "./rebuild-capture.ts";

/**
 * Returns the key with the hash of the request that wrote the entry. An entry does not have every
 * parameter of its request, so the key may have several hashes: a use may have allowed a part, a
 * grant may have named the month in which its points expire anyway, and a refund may have named its
 * points or not, and has a policy. The same call with other parameters is refused as ID_REUSED, so
 * nothing happens twice.
 */
export async function rebuildEventKey(
  deps: Pick<Deps, "reader">,
  account: AccountName,
  entry: LedgerEntry,
): Promise<EventKey> {
  let reversedPoints = 0;
  let availablePoints = entry.availablePoints;
  const name = eventName(entry.event);
  const holdId = holdIdOf(entry.event);
  const ofHold: LedgerEntry[] = [];
  for await (const entries of readLedger(deps, account)) {
    for (const each of entries) {
      if (each.relatedEvent && eventName(each.relatedEvent) === name) reversedPoints += each.points;
      if (eventName(each.event) === name) availablePoints = each.availablePoints;
      if (holdId !== undefined && holdIdOf(each.event) === holdId) ofHold.push(each);
    }
  }
  if (holdId !== undefined) return { ...rebuildCapture(entry, ofHold), entry, reversedPoints };
  return { hash: await hashOf(deps, account, entry), entry, availablePoints, reversedPoints };
}

type Expiry = Partial<ReturnType<typeof expiryParameters>>;

/**
 * The parameters with which a call can have written the expiry of an entry. Points that last for
 * the whole lifetime may have been granted with this month or without one.
 */
async function expiriesOf(
  { reader }: Pick<Deps, "reader">,
  programId: string,
  { type, changes, createTime, expireTime }: LedgerEntry,
): Promise<Expiry[]> {
  const program = (await reader.get(programRef(programId)))?.value;
  if (!program || expireTime === undefined) return [{}];
  const { timeZone } = program;
  // Not by the time of expiry, which a lengthening that was about to take effect has moved.
  const lifetime = lifetimeAt(program, createTime);
  const bucket = changes.at(-1)?.month ?? monthAt(timeZone, expireTime) - lifetime;
  const month = expiryParameters({ expireMonth: bucket + lifetime - 1 });
  const isWhole = type === "ISSUED" && bucket === monthAt(timeZone, createTime);
  return isWhole ? [{}, month] : [month];
}

async function hashOf(
  deps: Pick<Deps, "reader">,
  { programId, userId }: AccountName,
  entry: LedgerEntry,
): Promise<string> {
  const { event, type, points, caller, relatedEvent } = entry;
  const withExpiry = async (hash: (expiry: Expiry) => string) =>
    oneOf((await expiriesOf(deps, programId, entry)).map(hash));
  if (event.origin === "r") {
    const reservation = await deps.reader.get(reservationRef(programId, event.eventId));
    return reservation?.value.hash ?? unknownHash(event.eventId);
  }
  if (event.origin === "b") {
    if (type === "ISSUED") return withExpiry((expiry) => rowHash({ points, ...expiry }));
    return revokeHash(relatedEvent ?? event, userId);
  }
  const hash = (operation: string, parameters: Parameters<typeof requestHash>[2]) =>
    requestHash(operation, caller, { ...parameters, ...annotationsOf(entry) });
  switch (type) {
    case "ISSUED":
      return withExpiry((expiry) => hash("grant", { points, ...expiry }));
    case "USED":
      return oneOf([false, true].map((allowPartial) => hash("use", { points, allowPartial })));
    case "REFUNDED":
      return oneOf(refundsOf(entry).map((parameters) => hash("refund", parameters)));
    case "REVOKED":
      return hash("revoke", { grant: relatedEvent && eventName(relatedEvent) });
    case "EXTENDED":
      return withExpiry((expiry) =>
        hash("extend", { grant: relatedEvent && eventName(relatedEvent), ...expiry }),
      );
    case "FROZEN":
      return hash("freeze", {});
    case "UNFROZEN":
      return hash("unfreeze", {});
    default:
      return unknownHash(event.eventId);
  }
}

/** The parameters with which a call can have written a refund. */
function refundsOf({ relatedEvent, points }: LedgerEntry) {
  const holdId = relatedEvent && holdIdOf(relatedEvent);
  const useEventId =
    relatedEvent && holdId !== undefined
      ? captureIdOf(holdId, relatedEvent)
      : relatedEvent?.eventId;
  return [points, undefined].flatMap((some) =>
    policies.map((expired) => ({ useEventId, holdId, points: some, expired })),
  );
}

const policies: readonly ExpiredPointsPolicy[] = ["ORIGINAL_EXPIRY", "CURRENT_MONTH"];

/** The hash of no request. */
export const unknownHash = (eventId: string): string => requestHash("lost", noCaller, { eventId });
