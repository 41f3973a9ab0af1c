/** How targets, pending purges and reactions are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import {
  N,
  num,
  numbersByName,
  numsByName,
  optional,
  parts,
  S,
  text,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import { kindName, type StoredKind } from "../../rules/kinds.ts";
import { decodeActors, encodeActors } from "./latest-actors.ts";

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
      const { place, readTime, expireTime } = value;
      return {
        ...(place && { o: N(place.version) }),
        ...(place?.generation !== undefined && { g: N(place.generation) }),
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
      const place = item.o && { version: num(item, "o"), ...generation };
      return { ...(place && { place }), ...read, expireTime: num(item, "x") };
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
