/** How programs, accounts, ledger entries, event keys and the test clock are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

import { annotations } from "../../../platform/dynamodb/annotations.ts";
import { caller } from "../../../platform/dynamodb/callers.ts";
import { shardOf } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  as,
  bool,
  type Field,
  type Fields,
  field,
  flag,
  flat,
  group,
  list,
  maybe,
  number,
  numberOf,
  oneOf,
  optional,
  partOf,
  type Type,
  text,
  unless,
  unlessEmpty,
  unlessSame,
} from "../../../platform/dynamodb/fields.ts";
import { type Item, N, pad, S, text as textIn } from "../../../platform/dynamodb/sdk/attributes.ts";
import { itemSize, valueSize } from "../../../platform/dynamodb/sdk/item-size.ts";
import type { ItemCounter, Write } from "../../../platform/engine/item-store.ts";
import { shardCount } from "../../contract/points.ts";
import type { BalanceLimits } from "../../rules/balance-limits.ts";
import {
  type EntryType,
  type EventName,
  eventName,
  type LedgerEntry,
  type MonthChange,
  parseEventName,
  type Snapshot,
  type Totals,
} from "../../rules/ledger.ts";
import type {
  LifetimeChange,
  MonthEnd,
  ProgramNotices,
  ReservationPause,
} from "../../rules/program.ts";

export const program = defineRecord<"program">({
  table: "points",
  key: (id) => ({ pk: S("P"), sk: S(id) }),
  fields: {
    programId: partOf("sk", 0),
    timeZone: field("z", text),
    lifetimes: field("l", flat<LifetimeChange>({ lifetimeMonths: number, effectiveTime: number })),
    createTime: field("t", number),
    reservationPause: maybe(
      group<ReservationPause>({
        time: field("pt", number),
        caller: caller("pw"),
        reason: unless("", "pr", text),
      }),
    ),
    resumeTime: optional("pe", number),
    notices: maybe(
      group<ProgramNotices>({ expiryDays: field("ne", number), reservedGrants: field("ng", bool) }),
    ),
    balanceLimits: maybe(
      group<BalanceLimits>({
        below: field("lb", list(number)),
        above: unlessEmpty("la", list(number)),
      }),
    ),
    reservationShardCount: optional("rs", number),
    monthEnd: maybe(
      group<MonthEnd>({ month: field("me", number), failedCount: field("mf", number) }),
    ),
  },
});

/** The totals in their stored order. Those of holds are left out where nothing was ever held. */
const totals: Type<Totals> = as(list(number), toStoredTotals, toTotals);

function toStoredTotals(value: Totals): readonly number[] {
  const { issuedPoints, usedPoints, expiredPoints, refundedPoints, revokedPoints } = value;
  const first = [issuedPoints, usedPoints, expiredPoints, refundedPoints, revokedPoints];
  const { heldPoints, capturedPoints, releasedPoints } = value;
  return heldPoints > 0 ? [...first, heldPoints, capturedPoints, releasedPoints] : first;
}

/** Totals that are missing are no numbers, so that whatever adds them up fails. */
function toTotals(stored: readonly number[]): Totals {
  const [issuedPoints = Number.NaN, usedPoints = Number.NaN, expiredPoints = Number.NaN] = stored;
  const [refundedPoints = Number.NaN, revokedPoints = Number.NaN] = stored.slice(3);
  const [heldPoints = 0, capturedPoints = 0, releasedPoints = 0] = stored.slice(5);
  return {
    issuedPoints,
    usedPoints,
    expiredPoints,
    refundedPoints,
    revokedPoints,
    heldPoints,
    capturedPoints,
    releasedPoints,
  };
}

/**
 * A number of an account. One that is missing or of another type is read as NaN, because a scan has
 * to find the account, and its repair to read it. `expireDue` refuses it to every other use.
 */
const accountNumber: Type<number> = { ...number, none: () => Number.NaN };

const slots: Type<readonly number[]> = { ...list(accountNumber), none: () => [Number.NaN] };

export const account = defineRecord<"account">({
  table: "accounts",
  key: (id) => ({ pk: S(`A#${id}`), sk: S("A") }),
  fields: {
    programId: partOf("pk", 1),
    userId: partOf("pk", 2),
    month: field("m", accountNumber),
    slots: field("s", slots),
    totals: field("T", totals),
    frozen: flag("f"),
    last: field("n", accountNumber),
    time: field("t", accountNumber),
    oldest: optional("xm", number),
  },
  derived: ({ programId, userId, oldest }) =>
    oldest === undefined ? {} : { xp: S(expiryKey(programId, shardOf(userId, shardCount))) },
});

/** The account of whose records a partition is, as `<program>#<user>`, by its hash key. */
export const accountOf = (pk: string): string | undefined => /^A#(.+)$/.exec(pk)?.[1];

/** The hash key of the expiry index. */
export const expiryKey = (programId: string, shard: number): string => `${programId}#${shard}`;

export const monthChanges: Type<readonly MonthChange[]> = as(list(number), toDeltas, toChanges);

/** The first month, then one delta for each month: shorter than a month and points for each. */
function toDeltas(changes: readonly MonthChange[]): number[] {
  const first = (changes[0] as MonthChange).month;
  const deltas = Array<number>((changes.at(-1) as MonthChange).month - first + 1).fill(0);
  for (const { month, points } of changes) deltas[month - first] = points;
  return [first, ...deltas];
}

function toChanges([first = 0, ...deltas]: readonly number[]): readonly MonthChange[] {
  return deltas
    .map((points, i) => ({ month: first + i, points }))
    .filter(({ points }) => points !== 0);
}

/** A total by its name without the unit. */
const totalName: Type<keyof Totals> = as(
  text,
  (total) => total.replace("Points", ""),
  (name) => `${name}Points` as keyof Totals,
);

/** The name of an event as one text. */
export const eventText: Type<EventName> = as(text, eventName, parseEventName);

/** The fields of an entry wherever it is stored: in a ledger, and on the key of its event. */
const entryFields: Omit<Fields<LedgerEntry>, "number" | "event" | "snapshot"> = {
  type: field("y", oneOf<EntryType>()),
  createTime: field("t", number),
  effectiveTime: unlessSame("T", "t"),
  points: field("p", number),
  changes: unlessEmpty("c", monthChanges),
  total: optional("a", totalName),
  frozen: flag("f"),
  availablePoints: field("b", number),
  ...annotations,
  caller: caller("w"),
  expireTime: optional("x", number),
  relatedEvent: optional("d", eventText),
};

export const entry = defineRecord<"entry">({
  table: "points",
  key: (id) => {
    const at = id.lastIndexOf("#");
    return { pk: S(`A#${id.slice(0, at)}`), sk: S(`L#${pad(Number(id.slice(at + 1)), 12)}`) };
  },
  fields: {
    number: numberOf("sk", 1),
    event: field("e", eventText),
    ...entryFields,
    snapshot: maybe(
      group<Snapshot>({ totals: field("st", totals), months: unlessEmpty("sm", monthChanges) }),
    ),
  },
});

/** The largest size of an item with several entries. */
const maxBytes = 1_024;

/** The most entries in an item. It limits the items in which a number has to be searched. */
export const maxPacked = 16;

/** The size of an empty list with its name. */
const listBytes = 4;

/** The writes of a transaction, divided into items. */
interface Packing extends ItemCounter {
  readonly items: readonly (readonly Write[])[];
}

/**
 * Packs writes in their order: a new entry whose number follows that of the write before it joins
 * its item while the item stays within the limits. Every other write has an item of its own. The
 * first entry of an item uses its own attributes, the further ones are in the list `l`. So the
 * grants of a busy account share items and write units (docs/decisions/0011).
 */
export function startPacking(): Packing {
  const items: Write[][] = [];
  let open: { item: Write[]; bytes: number; next: string } | undefined;
  function add(write: Write): number {
    const { ref, op, version } = write;
    if (ref.kind !== "entry" || op !== "put" || version !== 0) return items.push([write]);
    const next = ref.id.replace(/\d+$/, (number) => String(Number(number) + 1));
    const bytes = 1 + valueSize(packed(write));
    const isNext = open?.next === ref.id && open.item.length < maxPacked;
    if (open && isNext && open.bytes + bytes <= maxBytes) {
      open.item.push(write);
      open.bytes += bytes;
      open.next = next;
      return items.length;
    }
    const alone = packedItem(itemOf(write), []);
    open = { item: [write], bytes: itemSize(alone) + listBytes, next };
    return items.push(open.item);
  }
  return { items, add };
}

/** Divides the writes of a whole transaction into items. */
export function pack(writes: readonly Write[]): Packing["items"] {
  const packing = startPacking();
  for (const write of writes) packing.add(write);
  return packing.items;
}

const itemOf = ({ ref, value, next }: Write): Item => ({
  ...entry.key(ref.id),
  ...entry.encode(value as LedgerEntry),
  v: N(next),
});

/**
 * The item of a record and of the further entries that are packed into it. An entry that would
 * exceed 1 KB with its snapshot is stored without: reads of the past go on to an earlier snapshot.
 */
export function packedItem(whole: Item, further: readonly Write[]): Item {
  const item = whole.st && itemSize(whole) > maxBytes ? withoutSnapshot(whole) : whole;
  return further.length > 0 ? { ...item, l: { L: further.map(packed) } } : item;
}

const packed = ({ value }: Write): AttributeValue => ({
  M: entry.encode(value as LedgerEntry),
});

export const withoutSnapshot = ({ sm: _months, st: _totals, ...item }: Item): Item => item;

/** The range key of an event, but for a capture. */
const eventRange = "K";

/**
 * The id of the key of a capture, `program#user#h:hold/capture/id`: up to its hold, which is the
 * hash key that all captures of the hold share, and behind that, the range key.
 */
const captureForm = /^([^#]*#[^#]*#h:[^/]*)\/(.*)$/;

/** The id of the event key that an item is. */
export function eventIdOf(item: Item): string {
  const [id, range] = [textIn(item, "pk").slice(2), textIn(item, "sk")];
  return range === eventRange ? id : `${id}/${range}`;
}

const eventInKey: Field<EventName> = {
  attribute: "pk",
  put: () => undefined,
  get(item) {
    const id = eventIdOf(item);
    return parseEventName(id.slice(id.lastIndexOf("#") + 1));
  },
};

export const event = defineRecord<"event">({
  table: "points",
  key(id) {
    const [, hold, capture] = captureForm.exec(id) ?? [];
    return { pk: S(`K#${hold ?? id}`), sk: S(capture ?? eventRange) };
  },
  fields: {
    hash: field("h", text),
    availablePoints: field("B", number),
    reversedPoints: unless(0, "u", number),
    earlierPoints: optional("k", number),
    entry: group<Omit<LedgerEntry, "snapshot">>({
      number: field("n", number),
      event: eventInKey,
      ...entryFields,
    }),
  },
});

export const testClock = defineRecord<"testClock">({
  table: "points",
  key: () => ({ pk: S("C"), sk: S("C") }),
  fields: { time: field("t", number) },
});

export const installation = defineRecord<"installation">({
  table: "points",
  key: () => ({ pk: S("I"), sk: S("I") }),
  fields: { id: field("i", text) },
});

export const lease = defineRecord<"lease">({
  table: "points",
  key: (name) => ({ pk: S(`H#${name}`), sk: S("H") }),
  fields: { holder: field("h", text), heartbeat: field("b", number) },
});
