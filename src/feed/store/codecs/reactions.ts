/** How targets, pending purges and all that a reaction changes are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  as,
  byName,
  either,
  field,
  flag,
  group,
  inKey,
  list,
  maybe,
  number,
  optional,
  partOf,
  type Type,
  text,
  unless,
  unlessEmpty,
  unlessSame,
} from "../../../platform/dynamodb/fields.ts";
import { type Item, N, num, pad, parts, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Preferences } from "../../rules/inbox.ts";
import { kindName, type StoredKind } from "../../rules/kinds.ts";
import { type MutedPeople, personHashes } from "../../rules/muted-people.ts";
import type { FormerReaction, Position, Reaction } from "../../rules/target.ts";
import { decodeChanges, decodeGroup, encodeChanges, encodeGroup } from "./groups.ts";
import { decodeActors, encodeActors } from "./latest-actors.ts";
import { varints } from "./varints.ts";

const targetName = (attribute: string, index: number) =>
  group<TargetName>({ type: partOf(attribute, index), id: partOf(attribute, index + 1) });

export const target = defineRecord<"target">({
  table: "reactions",
  key: (id) => ({ pk: S(`T#${id}`), sk: S("T") }),
  fields: {
    type: partOf("pk", 1),
    id: partOf("pk", 2),
    ownerId: field("ip", text),
    title: unless("", "h", text),
    link: unless("", "u", text),
    counts: field("k", byName(number)),
    latest: { attribute: "y", isOptional: true, put: () => undefined, get: decodeActors },
    muted: flag("m"),
    createTime: field("c", number),
    updateTime: field("l", number),
    deleteTime: optional("d", number),
  },
  derived: (value) => (value.latest ? encodeActors(value, value.latest) : {}),
});

/** Puts an item into the index by which all that is of a person is found. */
export const ofPerson = (userId: string): Item => ({ ip: S(userId) });

/** The one partition of all pending purges. */
export const pendingPurgesKey: AttributeValue = S("P");

export const pendingPurge = defineRecord<"pendingPurge">({
  table: "reactions",
  key: (id) => ({ pk: pendingPurgesKey, sk: S(id) }),
  fields: {
    target: targetName("sk", 0),
    ownerId: field("o", text),
    deleteTime: field("d", number),
  },
});

/** The last part of a partition's key leaves room for further shards of one kind. */
const onlyShard = 0;

/** The partition of all reactions of one kind to a target. */
export const reactionsKey = ({ type, id }: TargetName, kind: StoredKind): AttributeValue =>
  S(`R#${type}#${id}#${kind}#${onlyShard}`);

/** The target whose partition this is, or that of its reactions. */
export function targetOf(pk: string): TargetName | undefined {
  const [, type, id] = /^[TR]#([^#]+)#([^#]+)/.exec(pk) ?? [];
  return type !== undefined && id !== undefined ? { type, id } : undefined;
}

/** A partition with a local index, here `by-n`, has a limit of its size. */
const partitionLimit = "10 GB";

/** The error of a reaction, by its id, whose partition has reached its limit. */
function reactionsFull(name: string): DomainError {
  const [type, id, kind] = name.split("#") as [string, string, string];
  const text = `the target ${type} ${id} holds at most ${partitionLimit} of ${kindName(kind)}`;
  const metadata = { limit: partitionLimit, target_type: type, target_id: id };
  return new DomainError("LIMIT_EXCEEDED", text, metadata);
}

const active = group<Reaction>({
  target: targetName("pk", 1),
  kind: partOf("pk", 3),
  userId: inKey("sk", (key) => key),
  displayName: field("a", text),
  version: field("n", number),
  notified: either("q", false, true),
  createTime: field("t", number),
  readTime: optional("d", number),
});

const former = group<FormerReaction>({
  expireTime: field("x", number),
  position: maybe(
    group<Position>({ version: field("o", number), generation: optional("g", number) }),
  ),
  readTime: optional("d", number),
  // Keeps it in the index by person.
  createTime: field("t", number),
});

export const reaction: Codec<"reaction"> = {
  table: "reactions",
  full: reactionsFull,
  key: (name) => {
    const [type, id, kind, userId] = name.split("#") as [string, string, string, string];
    return { pk: reactionsKey({ type, id }, kind), sk: S(userId) };
  },
  encode(value) {
    const item: Item = {};
    if ("userId" in value) {
      active.put(value, item);
    } else {
      former.put(value, item);
      item.ttl = N(Math.ceil(value.expireTime / 1_000));
    }
    return item;
  },
  decode: (item) => (item.n ? active : former).get(item),
};

/** The partition of an owner's inbox and unread groups. */
export const inboxKey = (ownerId: string): AttributeValue => S(`I#${ownerId}`);

/** The bits of the hashes of muted people. */
const hashBits: Type<bigint> = {
  encode: (bits) => ({ B: Buffer.from(bits.toString(16).padStart(personHashes / 4, "0"), "hex") }),
  decode: ({ B: bytes }) => bytes && BigInt(`0x${Buffer.from(bytes).toString("hex")}`),
  none: () => 0n,
};

/** Versions, latest first, as the first one and the differences of the next ones. */
const versions = as<readonly number[], readonly number[]>(
  varints,
  (values) => values.map((each, i) => (i === 0 ? each : (values[i - 1] as number) - each)),
  (stored) => {
    let version = 0;
    return stored.map((each, i) => {
      version = i === 0 ? each : version - each;
      return version;
    });
  },
);

export const inbox = defineRecord<"inbox">({
  table: "notifications",
  key: (ownerId) => ({ pk: inboxKey(ownerId), sk: S("I") }),
  fields: {
    version: field("n", number),
    changeVersion: unlessSame("h", "n"),
    notificationCount: field("g", number),
    closedCount: unless(0, "c", number),
    actorCount: field("p", number),
    seenVersion: unless(0, "s", number),
    unseen: unlessEmpty("u", versions),
    olderUnseenCount: unless(0, "y", number),
    kindCounts: unlessEmpty("b", byName(number)),
    preferences: group<Preferences>({
      allMuted: flag("a"),
      mutedKinds: unlessEmpty("k", list(text)),
      mutedEventKinds: unlessEmpty("ke", list(text)),
    }),
    mutedPeople: group<MutedPeople>({
      count: unless(0, "mp", number),
      hashes: unless(0n, "m", hashBits),
    }),
  },
});

export const unreadGroup: Codec<"unreadGroup"> = {
  table: "notifications",
  key: (name) => {
    const [ownerId, kind, type, id, generation] = name.split("#");
    const open = `U#${kind}#${type}#${id}`;
    const sk = generation === undefined ? open : `${open}#${pad(Number(generation), 15)}`;
    return { pk: inboxKey(ownerId as string), sk: S(sk) };
  },
  encode: ({ closed, ...value }) => ({
    ...encodeGroup(value),
    g: N(value.generation),
    ...encodeChanges(value),
    ...(closed && { e: N(closed.endVersion) }),
    ...(closed?.wasRead && { w: { BOOL: true } }),
  }),
  decode: (item) => {
    const [, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    const generation = num(item, "g");
    const changes = decodeChanges(item, generation);
    const closed = item.e && { endVersion: num(item, "e"), wasRead: item.w?.BOOL === true };
    return {
      kind,
      target: { type, id },
      ...decodeGroup(item, generation),
      ...changes,
      ...(closed && { closed }),
    };
  },
};
