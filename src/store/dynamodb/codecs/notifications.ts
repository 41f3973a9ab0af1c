/** How inboxes, unread groups and read groups are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { personHashLength } from "../../../domain/inbox.ts";
import {
  type Group,
  type Member,
  type UnreadGroup,
  versionOf,
} from "../../../domain/unread-group.ts";
import { type Item, N, num, pad, parts, S, strings, text, texts } from "../sdk/attributes.ts";
import type { Codec } from "./codec.ts";

/** The partition of an owner's inbox and unread groups. */
export const inboxKey = (ownerId: string): AttributeValue => S(`I#${ownerId}`);

export const inbox: Codec<"inbox"> = {
  table: "notifications",
  key: (ownerId) => ({ pk: inboxKey(ownerId), sk: S("I") }),
  encode: ({ preferences, ...value }) => ({
    n: N(value.version),
    g: N(value.notificationCount),
    p: N(value.actorCount),
    ...(value.seenVersion > 0 && { s: N(value.seenVersion) }),
    ...(value.unseen.length > 0 && { u: { B: encodeVersions(value.unseen) } }),
    ...(value.olderUnseenCount > 0 && { y: N(value.olderUnseenCount) }),
    ...(preferences.allMuted && { a: { BOOL: true } }),
    ...(preferences.mutedKinds.length > 0 && { k: strings(preferences.mutedKinds) }),
    ...(value.mutedPeople.length > 0 && { m: S(value.mutedPeople.join("")) }),
  }),
  decode: (item) => ({
    version: num(item, "n"),
    notificationCount: num(item, "g"),
    actorCount: num(item, "p"),
    seenVersion: num(item, "s"),
    unseen: decodeVersions(item.u?.B),
    olderUnseenCount: num(item, "y"),
    preferences: { allMuted: item.a?.BOOL === true, mutedKinds: texts(item, "k") },
    mutedPeople: text(item, "m").match(personHash) ?? [],
  }),
};

/** The hashes of muted people are stored one after another. */
const personHash = new RegExp(`.{${personHashLength}}`, "g");

/**
 * Versions, latest first, as the first one and the differences of the next ones: 7 bits a byte, the
 * lowest first, and 128 added to each byte but the last (LEB128). So 99 of them fit into an inbox.
 */
function encodeVersions(versions: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const [i, version] of versions.entries()) {
    let rest = i === 0 ? version : (versions[i - 1] as number) - version;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}

function decodeVersions(stored: Uint8Array = new Uint8Array()): number[] {
  const versions: number[] = [];
  let difference = 0;
  let factor = 1;
  for (const byte of stored) {
    difference += (byte % 128) * factor;
    factor *= 128;
    if (byte >= 128) continue;
    const before = versions.at(-1);
    versions.push(before === undefined ? difference : before - difference);
    difference = 0;
    factor = 1;
  }
  return versions;
}

export const unreadGroup: Codec<"unreadGroup"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    return { pk: inboxKey(ownerId), sk: S(`U#${name}`) };
  },
  encode: (value) => {
    return {
      l: N(versionOf(value)),
      ...encodeGroup(value),
      r: S(encodeRecent(value.recent)),
      ...(value.leaveCount > 0 && { e: S(encodeNumbers([value.leaveCount, value.leaveTime])) }),
    };
  },
  decode: (item) => {
    const [, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    const [leaveCount = 0, leaveTime = 0] = decodeNumbers(text(item, "e"));
    return {
      kind,
      target: { type, id },
      ...decodeGroup(item),
      leaveCount,
      leaveTime,
      recent: decodeRecent(text(item, "r")),
    };
  },
};

/** The version `middle` is stored as its difference from `after`. */
const encodeRecent = (recent: UnreadGroup["recent"]): string => {
  const { after, count, middle, lateCount, middleTime } = recent;
  return encodeNumbers([after, count, middle - after, lateCount, middleTime]);
};

function decodeRecent(stored: string): UnreadGroup["recent"] {
  const [after = 0, count = 0, difference = 0, lateCount = 0, middleTime = 0] =
    decodeNumbers(stored);
  return { after, count, middle: after + difference, lateCount, middleTime };
}

/** Numbers as one short text, in base 36. */
const encodeNumbers = (all: readonly number[]): string =>
  all.map((each) => each.toString(36)).join(".");
const decodeNumbers = (stored: string): number[] =>
  stored === "" ? [] : stored.split(".").map((each) => Number.parseInt(each, 36));

/** A muted person of an owner, so that they can be listed: the inbox has only hashes. */
export const mutedPerson: Codec<"mutedPerson"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, userId] = split(id);
    return { pk: mutedPeopleKey(ownerId), sk: S(userId) };
  },
  encode: (value) => ({ t: N(value.time) }),
  decode: (item) => ({ userId: text(item, "sk"), time: num(item, "t") }),
};

/** The partition of the people whom an owner has muted. */
export const mutedPeopleKey = (ownerId: string): AttributeValue => S(`M#${ownerId}`);

/** An event that a service has reported by Notify; of Meguri's own events the service is empty. */
export const notifiedEvent: Codec<"notifiedEvent"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    const [service, eventId] = split(name);
    return { pk: S(`E#${ownerId}#${service}`), sk: S(eventId) };
  },
  encode: (value) => ({
    h: S(value.hash),
    ...(!value.notified && { q: { BOOL: true } }),
    x: N(value.expireTime),
    ttl: N(Math.ceil(value.expireTime / 1_000)),
  }),
  decode: (item) => ({
    hash: text(item, "h"),
    notified: item.q === undefined,
    expireTime: num(item, "x"),
  }),
};

/** The partition of an owner's read groups. */
export const readGroupsKey = (ownerId: string): AttributeValue => S(`H#${ownerId}`);

/** Sorts behind the sort keys of all read groups of a version below `version`. */
export const readGroupsBefore = (version: number): AttributeValue => S(pad(version, 15));

export const readGroup: Codec<"readGroup"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    const [version, group] = split(name);
    return { pk: readGroupsKey(ownerId), sk: S(`${pad(Number(version), 15)}#${group}`) };
  },
  encode: (value) => ({
    ...encodeGroup(value),
    d: N(value.readTime),
    x: N(value.expireTime),
    ttl: N(Math.ceil(value.expireTime / 1_000)),
  }),
  decode: (item) => {
    const [, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    return {
      kind,
      target: { type, id },
      ...decodeGroup(item),
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

const encodeGroup = (value: Group): Item => ({
  p: N(value.actorCount),
  a: encodeMembers(value.firstMembers),
  z: encodeMembers(value.latestMembers),
});

const decodeGroup = (item: Item) => ({
  actorCount: num(item, "p"),
  firstMembers: decodeMembers(item, "a"),
  latestMembers: decodeMembers(item, "z"),
});

/** Three texts for each member: id, name, and version and time in base 36. */
const encodeMembers = (members: readonly Member[]): AttributeValue =>
  strings(
    members.flatMap(({ userId, displayName, version, createTime }) => [
      userId,
      displayName,
      encodeNumbers([version, createTime]),
    ]),
  );

function decodeMembers(item: Item, name: string): Member[] {
  const flat = texts(item, name);
  const members: Member[] = [];
  for (let i = 0; i < flat.length; i += 3) {
    const [userId, displayName, joined] = flat.slice(i, i + 3) as [string, string, string];
    const [version = 0, createTime = 0] = decodeNumbers(joined);
    members.push({ userId, displayName, version, createTime });
  }
  return members;
}
