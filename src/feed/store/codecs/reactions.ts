/** How targets, pending purges and all that a reaction changes are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import {
  N,
  num,
  numbersByName,
  numsByName,
  optional,
  pad,
  parts,
  S,
  strings,
  text,
  texts,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import { personHashLength } from "../../rules/inbox.ts";
import { kindName, type StoredKind } from "../../rules/kinds.ts";
import { decodeChanges, decodeGroup, encodeChanges, encodeGroup } from "./groups.ts";
import { decodeActors, encodeActors } from "./latest-actors.ts";
import { decodeVarints, encodeVarints } from "./varints.ts";

export const target: Codec<"target"> = {
  table: "reactions",
  key: (id) => ({ pk: S(`T#${id}`), sk: S("T") }),
  encode: (value) => ({
    o: S(value.ownerId),
    k: numbersByName(value.counts),
    c: N(value.createTime),
    l: N(value.updateTime),
    ...(value.latest && encodeActors(value, value.latest)),
    ...(value.title !== "" && { h: S(value.title) }),
    ...(value.link !== "" && { u: S(value.link) }),
    ...(value.muted && { m: { BOOL: true } }),
    ...(value.deleteTime !== undefined && { d: N(value.deleteTime) }),
  }),
  decode: (item) => {
    const [, type, id] = parts(item, "pk") as [string, string, string];
    const latest = decodeActors(item);
    return {
      type,
      id,
      ownerId: text(item, "o"),
      title: text(item, "h"),
      link: text(item, "u"),
      counts: numsByName(item, "k"),
      ...(latest && { latest }),
      muted: item.m?.BOOL === true,
      createTime: num(item, "c"),
      updateTime: num(item, "l"),
      ...(item.d && { deleteTime: num(item, "d") }),
    };
  },
};

/** The one partition of all pending purges. */
export const pendingPurgesKey: AttributeValue = S("P");

export const pendingPurge: Codec<"pendingPurge"> = {
  table: "reactions",
  key: (id) => ({ pk: pendingPurgesKey, sk: S(id) }),
  encode: (value) => ({ o: S(value.ownerId), d: N(value.deleteTime) }),
  decode: (item) => {
    const [type, id] = parts(item, "sk") as [string, string];
    return { target: { type, id }, ownerId: text(item, "o"), deleteTime: num(item, "d") };
  },
};

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

export const reaction: Codec<"reaction"> = {
  table: "reactions",
  full: reactionsFull,
  key: (name) => {
    const [type, id, kind, userId] = name.split("#") as [string, string, string, string];
    return { pk: reactionsKey({ type, id }, kind), sk: S(userId) };
  },
  encode: (value) => {
    if (!("userId" in value)) {
      const { position, readTime, expireTime } = value;
      return {
        ...(position && { o: N(position.version) }),
        ...(position?.generation !== undefined && { g: N(position.generation) }),
        ...(readTime !== undefined && { d: N(readTime) }),
        x: N(expireTime),
        ttl: N(Math.ceil(expireTime / 1_000)),
      };
    }
    return {
      a: S(value.displayName),
      n: N(value.version),
      t: N(value.createTime),
      ...(!value.notified && { q: { BOOL: true } }),
      ...(value.readTime !== undefined && { d: N(value.readTime) }),
    };
  },
  decode: (item) => {
    const readTime = optional(item, "d");
    const read = readTime !== undefined && { readTime };
    if (!item.n) {
      const generation = item.g && { generation: num(item, "g") };
      const position = item.o && { version: num(item, "o"), ...generation };
      return { ...(position && { position }), ...read, expireTime: num(item, "x") };
    }
    const [, type, id, kind] = parts(item, "pk") as [string, string, string, string];
    return {
      target: { type, id },
      kind,
      userId: text(item, "sk"),
      displayName: text(item, "a"),
      version: num(item, "n"),
      notified: item.q === undefined,
      createTime: num(item, "t"),
      ...read,
    };
  },
};

/** The partition of an owner's inbox and unread groups. */
export const inboxKey = (ownerId: string): AttributeValue => S(`I#${ownerId}`);

export const inbox: Codec<"inbox"> = {
  table: "notifications",
  key: (ownerId) => ({ pk: inboxKey(ownerId), sk: S("I") }),
  encode: ({ preferences, ...value }) => ({
    n: N(value.version),
    ...(value.changeVersion !== value.version && { h: N(value.changeVersion) }),
    g: N(value.notificationCount),
    ...(value.closedCount > 0 && { c: N(value.closedCount) }),
    p: N(value.actorCount),
    ...(value.seenVersion > 0 && { s: N(value.seenVersion) }),
    ...(value.unseen.length > 0 && { u: { B: encodeVersions(value.unseen) } }),
    ...(value.olderUnseenCount > 0 && { y: N(value.olderUnseenCount) }),
    ...(Object.keys(value.kindCounts).length > 0 && { b: numbersByName(value.kindCounts) }),
    ...(preferences.allMuted && { a: { BOOL: true } }),
    ...(preferences.mutedKinds.length > 0 && { k: strings(preferences.mutedKinds) }),
    ...(preferences.mutedEventKinds.length > 0 && { ke: strings(preferences.mutedEventKinds) }),
    ...(value.mutedPeople.length > 0 && { m: S(value.mutedPeople.join("")) }),
  }),
  decode: (item) => ({
    version: num(item, "n"),
    changeVersion: num(item, item.h ? "h" : "n"),
    notificationCount: num(item, "g"),
    closedCount: num(item, "c"),
    actorCount: num(item, "p"),
    seenVersion: num(item, "s"),
    unseen: decodeVersions(item.u?.B),
    olderUnseenCount: num(item, "y"),
    kindCounts: numsByName(item, "b"),
    preferences: {
      allMuted: item.a?.BOOL === true,
      mutedKinds: texts(item, "k"),
      mutedEventKinds: texts(item, "ke"),
    },
    mutedPeople: text(item, "m").match(personHash) ?? [],
  }),
};

/** The hashes of muted people are stored one after another. */
const personHash = new RegExp(`.{${personHashLength}}`, "g");

/** Versions, latest first, as the first one and the differences of the next ones. */
const encodeVersions = (versions: readonly number[]): Uint8Array =>
  encodeVarints(versions.map((each, i) => (i === 0 ? each : (versions[i - 1] as number) - each)));

function decodeVersions(stored: Uint8Array | undefined): number[] {
  let version = 0;
  return decodeVarints(stored).map((each, i) => {
    version = i === 0 ? each : version - each;
    return version;
  });
}

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
