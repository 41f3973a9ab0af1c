/** How targets and reactions are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { TargetName } from "../../../domain/target.ts";
import { N, num, parts, S, text } from "../sdk/attributes.ts";
import type { Codec } from "./codec.ts";

export const target: Codec<"target"> = {
  table: "reactions",
  key: (id) => ({ pk: S(`T#${id}`), sk: S("T") }),
  encode: (value) => ({
    o: S(value.ownerId),
    k: {
      M: Object.fromEntries(Object.entries(value.counts).map(([kind, count]) => [kind, N(count)])),
    },
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
