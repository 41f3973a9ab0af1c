import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Actor, UnreadGroup } from "../../../domain/notification.ts";
import type { TargetName } from "../../../domain/reaction.ts";
import { type Item, N, num, pad, parts, S, strings, text, texts } from "../sdk/attributes.ts";
import type { Codec } from "./index.ts";

export const target: Codec<"target"> = {
  table: "reactions",
  key: (id) => ({ pk: S(`T#${id}`), sk: S("T") }),
  encode: (value) => ({
    o: S(value.ownerId),
    k: { M: Object.fromEntries(Object.entries(value.counts).map(([kind, n]) => [kind, N(n)])) },
    c: N(value.createTime),
    ...(value.title !== "" && { h: S(value.title) }),
    ...(value.link !== "" && { u: S(value.link) }),
    ...(value.muted && { m: { BOOL: true } }),
    ...(value.deleted && { d: { BOOL: true } }),
  }),
  decode: (item) => {
    const [, type, id] = parts(item, "pk") as [string, string, string];
    const counts = Object.entries(item.k?.M ?? {});
    return {
      type,
      id,
      ownerId: text(item, "o"),
      title: text(item, "h"),
      link: text(item, "u"),
      counts: Object.fromEntries(counts.map(([kind, count]) => [kind, Number(count.N)])),
      muted: item.m?.BOOL === true,
      deleted: item.d?.BOOL === true,
      createTime: num(item, "c"),
    };
  },
};

/** The partition of all reactions of one kind to a target. */
export const reactionsKey = ({ type, id }: TargetName, kind: string): AttributeValue =>
  S(`R#${type}#${id}#${kind}`);

export const reaction: Codec<"reaction"> = {
  table: "reactions",
  key: (name) => {
    const [type, id, kind, userId] = name.split("#") as [string, string, string, string];
    return { pk: reactionsKey({ type, id }, kind), sk: S(userId) };
  },
  encode: (value) => ({
    a: S(value.actorName),
    n: N(value.version),
    t: N(value.createTime),
    ...(!value.notified && { q: { BOOL: true } }),
  }),
  decode: (item) => {
    const [, type, id, kind] = parts(item, "pk") as [string, string, string, string];
    return {
      target: { type, id },
      kind,
      userId: text(item, "sk"),
      actorName: text(item, "a"),
      version: num(item, "n"),
      notified: item.q === undefined,
      createTime: num(item, "t"),
    };
  },
};

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

/** The partition of what an owner has read. */
export const readGroupsKey = (ownerId: string): AttributeValue => S(`H#${ownerId}`);

export const readGroup: Codec<"readGroup"> = {
  table: "notifications",
  key: (id) => {
    const [ownerId, name] = split(id);
    const [last, group] = split(name);
    return { pk: readGroupsKey(ownerId), sk: S(`${pad(Number(last), 15)}#${group}`) };
  },
  encode: (value) => ({
    ...encodeGroup(value),
    d: N(value.readTime),
    x: N(value.expireTime),
    ttl: N(Math.ceil(value.expireTime / 1_000)),
  }),
  decode: (item) => {
    const [last, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    return {
      kind,
      target: { type, id },
      version: Number(last),
      ...decodeGroup(item),
      readTime: num(item, "d"),
      expireTime: num(item, "x"),
    };
  },
};

/** What stands in front of the first `#`, and behind it. */
function split(id: string): [string, string] {
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
