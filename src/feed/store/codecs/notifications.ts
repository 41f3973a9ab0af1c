/** How inboxes, unread groups and read groups are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import { field, group, number, partOf } from "../../../platform/dynamodb/fields.ts";
import {
  N,
  num,
  numbersByName,
  numsByName,
  pad,
  parts,
  S,
  strings,
  text,
  texts,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { personHashLength } from "../../rules/inbox.ts";
import { decodeChanges, decodeGroup, encodeChanges, encodeGroup } from "./groups.ts";
import { decodeVarints, encodeVarints } from "./varints.ts";

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

/**
 * The kinds, each once, and three numbers of each group by generation: the index of its kind, the
 * versions since the generation before, and those to its end.
 */
export const closedGroups: Codec<"closedGroups"> = {
  table: "notifications",
  key: (name) => {
    const [ownerId, target] = split(name);
    return { pk: inboxKey(ownerId), sk: S(`C#${target}`) };
  },
  encode: ({ ranges }) => {
    const kinds = [...new Set(ranges.map(({ kind }) => kind))];
    const sorted = ranges.toSorted((a, b) => a.generation - b.generation);
    const numbers = sorted.flatMap(({ kind, generation, endVersion }, i) => [
      kinds.indexOf(kind),
      generation - (sorted[i - 1]?.generation ?? 0),
      endVersion - generation,
    ]);
    return { k: strings(kinds), r: { B: encodeVarints(numbers) } };
  },
  decode: (item) => {
    const [kinds, numbers] = [texts(item, "k"), decodeVarints(item.r?.B)];
    let generation = 0;
    const ranges = Array.from({ length: numbers.length / 3 }, (_, i) => {
      const [kind = 0, after = 0, length = 0] = numbers.slice(3 * i, 3 * i + 3);
      generation += after;
      return { kind: kinds[kind] as string, generation, endVersion: generation + length };
    });
    return { ranges };
  },
};

/** When an owner has last read reactions of one kind to one target. */
export const readMark = defineRecord<"readMark">({
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    return { pk: inboxKey(ownerId), sk: S(`R#${name}`) };
  },
  fields: {
    version: field("n", number),
    readTime: field("d", number),
    expireTime: field("x", number),
  },
  derived: ({ expireTime }) => ({ ttl: N(Math.ceil(expireTime / 1_000)) }),
});

/** A muted person of an owner, so that they can be listed: the inbox has only hashes. */
export const mutedPerson = defineRecord<"mutedPerson">({
  table: "notifications",
  key: (id) => {
    const [ownerId, userId] = split(id);
    return { pk: mutedPeopleKey(ownerId), sk: S(userId) };
  },
  fields: { userId: partOf("sk", 0), time: field("t", number) },
});

/** The partition of the people whom an owner has muted. */
export const mutedPeopleKey = (ownerId: string): AttributeValue => S(`M#${ownerId}`);

/** A muted target of an owner, so that they can be listed: reactions read it from the target. */
export const mutedTarget = defineRecord<"mutedTarget">({
  table: "notifications",
  key: (name) => {
    const [ownerId, target] = split(name);
    return { pk: mutedTargetsKey(ownerId), sk: S(target) };
  },
  fields: {
    target: group({ type: partOf("sk", 0), id: partOf("sk", 1) }),
    time: field("t", number),
  },
});

/** The partition of the targets that an owner has muted. */
export const mutedTargetsKey = (ownerId: string): AttributeValue => S(`T#${ownerId}`);

/** The partition of an owner's read groups. */
export const readGroupsKey = (ownerId: string): AttributeValue => S(`H#${ownerId}`);

export const readGroup: Codec<"readGroup"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    const end = name.lastIndexOf("#") + 1;
    const generation = pad(Number(name.slice(end)), 15);
    return { pk: readGroupsKey(ownerId), sk: S(`${name.slice(0, end)}${generation}`) };
  },
  encode: (value) => ({
    ...encodeGroup(value),
    d: N(value.readTime),
    x: N(value.expireTime),
    ttl: N(Math.ceil(value.expireTime / 1_000)),
  }),
  decode: (item) => {
    const [kind, type, id, generation] = parts(item, "sk") as [string, string, string, string];
    return {
      kind,
      target: { type, id },
      ...decodeGroup(item, Number(generation)),
      readTime: num(item, "d"),
      expireTime: num(item, "x"),
    };
  },
};

/** The parts of an id before and after its first `#`. */
export function split(id: string): [string, string] {
  const at = id.indexOf("#");
  return [id.slice(0, at), id.slice(at + 1)];
}
