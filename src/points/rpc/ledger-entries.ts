/** Maps ledger entries and the events that requests name between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type EventName,
  EventOrigin,
  type LedgerEntrySchema,
  LedgerEntry_Type as Type,
} from "../../gen/meguri/points/v1/ledger_entry_pb.ts";
import { fromAnnotations } from "../../platform/messages/annotations.ts";
import { fromCaller } from "../../platform/messages/callers.ts";
import { fromInstant, fromOptionalInstant } from "../../platform/messages/scalars.ts";
import { formatMonth } from "../../platform/words/month.ts";
import type { EntryType, LedgerEntry, EventName as Name, Origin } from "../rules/ledger.ts";

const origins: Readonly<Record<Origin, EventOrigin>> = {
  c: EventOrigin.CALLER,
  r: EventOrigin.RESERVATION,
  b: EventOrigin.BULK_GRANT,
  h: EventOrigin.HOLD,
  x: EventOrigin.EXPIRY,
};

const types: Readonly<Record<EntryType, Type>> = {
  ISSUED: Type.ISSUED,
  USED: Type.USED,
  EXPIRED: Type.EXPIRED,
  REFUNDED: Type.REFUNDED,
  REVOKED: Type.REVOKED,
  FROZEN: Type.FROZEN,
  UNFROZEN: Type.UNFROZEN,
  EXTENDED: Type.EXTENDED,
  HELD: Type.HELD,
  CAPTURED: Type.CAPTURED,
  RELEASED: Type.RELEASED,
};

const originOf = reversed(origins);
const typeOf = reversed(types);

/** The event that a request names. Without an origin, its id was chosen by a caller. */
export const toEventName = ({ origin, eventId }: EventName): Name => ({
  origin: originOf.get(origin) ?? "c",
  eventId,
});

/** The message of the name of an event. */
export const fromEventName = ({ origin, eventId }: Name) => ({ origin: origins[origin], eventId });

/** The types that a request names. The schema refuses unknown ones. */
export const toEntryTypes = (types: readonly Type[]): EntryType[] =>
  types.flatMap((type) => typeOf.get(type) ?? []);

export function fromEntry(entry: LedgerEntry): MessageInitShape<typeof LedgerEntrySchema> {
  const { expireTime, relatedEvent } = entry;
  return {
    number: BigInt(entry.number),
    type: types[entry.type],
    event: fromEventName(entry.event),
    createTime: fromInstant(entry.createTime),
    effectiveTime: fromInstant(entry.effectiveTime),
    points: BigInt(entry.points),
    monthChanges: entry.changes.map(({ month, points }) => ({
      month: formatMonth(month),
      points: BigInt(points),
    })),
    ...fromAnnotations(entry),
    caller: fromCaller(entry.caller),
    availablePoints: BigInt(entry.availablePoints),
    expireTime: fromOptionalInstant(expireTime),
    relatedEvent: relatedEvent && fromEventName(relatedEvent),
  };
}

function reversed<A extends string, B>(map: Readonly<Record<A, B>>): ReadonlyMap<B, A> {
  return new Map(Object.entries<B>(map).map(([a, b]) => [b, a as A]));
}
