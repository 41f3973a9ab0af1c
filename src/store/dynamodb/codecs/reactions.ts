import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Actor, Group } from "../../../domain/notification.ts";
import type { TargetName } from "../../../domain/reaction.ts";
import { type Item, N, num, pad, parts, S, strings, text, texts } from "../sdk/attributes.ts";
import type { Codec } from "./index.ts";

export const target: Codec<"target"> = {
  table: "reactions",
  key: (id) => ({ pk: S(`T#${id}`), sk: S("T") }),
  encode: (value) => ({
    o: S(value.owner),
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
      owner: text(item, "o"),
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
    const [type, id, kind, user] = name.split("#") as [string, string, string, string];
    return { pk: reactionsKey({ type, id }, kind), sk: S(user) };
  },
  encode: (value) => ({
    a: S(value.name),
    n: N(value.n),
    t: N(value.time),
    ...(!value.notified && { q: { BOOL: true } }),
  }),
  decode: (item) => {
    const [, type, id, kind] = parts(item, "pk") as [string, string, string, string];
    return {
      target: { type, id },
      kind,
      user: text(item, "sk"),
      name: text(item, "a"),
      n: num(item, "n"),
      notified: item.q === undefined,
      time: num(item, "t"),
    };
  },
};

/** The partition of an owner's inbox and unread groups. */
export const inboxKey = (owner: string): AttributeValue => S(`I#${owner}`);

export const inbox: Codec<"inbox"> = {
  table: "notifications",
  key: (owner) => ({ pk: inboxKey(owner), sk: S("I") }),
  encode: (value) => ({ n: N(value.n), g: N(value.groups), p: N(value.people) }),
  decode: (item) => ({ n: num(item, "n"), groups: num(item, "g"), people: num(item, "p") }),
};

export const group: Codec<"group"> = {
  table: "notifications",
  key: (id) => {
    const [owner, name] = split(id);
    return { pk: inboxKey(owner), sk: S(`U#${name}`) };
  },
  encode: (value) => ({ l: N(value.last), ...encodeGroup(value) }),
  decode: (item) => {
    const [, kind, type, id] = parts(item, "sk") as [string, string, string, string];
    return { kind, target: { type, id }, last: num(item, "l"), ...decodeGroup(item) };
  },
};

/** The partition of what an owner has read. */
export const historyKey = (owner: string): AttributeValue => S(`H#${owner}`);

export const history: Codec<"history"> = {
  table: "notifications",
  key: (id) => {
    const [owner, name] = split(id);
    const [last, group] = split(name);
    return { pk: historyKey(owner), sk: S(`${pad(Number(last), 15)}#${group}`) };
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
      last: Number(last),
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

function encodeGroup(value: Group): Item {
  return {
    f: N(value.from),
    p: N(value.people),
    a: encodeActors(value.first),
    z: encodeActors(value.latest),
    c: N(value.createTime),
    m: N(value.updateTime),
  };
}

const decodeGroup = (item: Item) => ({
  from: num(item, "f"),
  people: num(item, "p"),
  first: decodeActors(item, "a"),
  latest: decodeActors(item, "z"),
  createTime: num(item, "c"),
  updateTime: num(item, "m"),
});

const encodeActors = (actors: readonly Actor[]): AttributeValue =>
  strings(actors.flatMap(({ user, name }) => [user, name]));

function decodeActors(item: Item, name: string): Actor[] {
  const flat = texts(item, name);
  const actors: Actor[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    actors.push({ user: flat[i] as string, name: flat[i + 1] as string });
  }
  return actors;
}
