/** How inboxes, unread groups and read groups are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Actor, UnreadGroup } from "../../../domain/notification.ts";
import { type Item, N, num, pad, parts, S, strings, texts } from "../sdk/attributes.ts";
import type { Codec } from "./codec.ts";

/** The partition of an owner's inbox and unread groups. */
export const inboxKey = (ownerId: string): AttributeValue => S(`I#${ownerId}`);

export const inbox: Codec<"inbox"> = {
  table: "notifications",
  key: (ownerId) => ({ pk: inboxKey(ownerId), sk: S("I") }),
  encode: (value) => ({ n: N(value.version), g: N(value.groupCount), p: N(value.peopleCount) }),
  decode: (item) => ({
    version: num(item, "n"),
    groupCount: num(item, "g"),
    peopleCount: num(item, "p"),
  }),
};

export const unreadGroup: Codec<"unreadGroup"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    return { pk: inboxKey(ownerId), sk: S(`U#${name}`) };
  },
  encode: (value) => ({ l: N(value.version), ...encodeGroup(value) }),
  decode: (item) => {
    const [, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    return { kind, target: { type, id }, version: num(item, "l"), ...decodeGroup(item) };
  },
};

/** The partition of an owner's read groups. */
export const readGroupsKey = (ownerId: string): AttributeValue => S(`H#${ownerId}`);

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
    const [version, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    return {
      kind,
      target: { type, id },
      version: Number(version),
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

function encodeGroup(value: UnreadGroup): Item {
  return {
    f: N(value.firstVersion),
    p: N(value.peopleCount),
    a: encodeActors(value.firstActors),
    z: encodeActors(value.latestActors),
    c: N(value.createTime),
    m: N(value.updateTime),
  };
}

const decodeGroup = (item: Item) => ({
  firstVersion: num(item, "f"),
  peopleCount: num(item, "p"),
  firstActors: decodeActors(item, "a"),
  latestActors: decodeActors(item, "z"),
  createTime: num(item, "c"),
  updateTime: num(item, "m"),
});

const encodeActors = (actors: readonly Actor[]): AttributeValue =>
  strings(actors.flatMap(({ userId, actorName }) => [userId, actorName]));

function decodeActors(item: Item, name: string): Actor[] {
  const flat = texts(item, name);
  const actors: Actor[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    actors.push({ userId: flat[i] as string, actorName: flat[i + 1] as string });
  }
  return actors;
}
