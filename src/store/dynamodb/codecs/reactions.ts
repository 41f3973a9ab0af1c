/** How targets, pending purges and reactions are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { DomainError } from "../../../domain/errors.ts";
import { isEventKind, kindName, type StoredKind } from "../../../domain/kinds.ts";
import { noActor, type TargetName } from "../../../domain/target.ts";
import { N, num, optional, parts, S, text } from "../sdk/attributes.ts";
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
    l: N(value.updateTime),
    ...(value.title !== "" && { h: S(value.title) }),
    ...(value.link !== "" && { u: S(value.link) }),
    ...(value.muted && { m: { BOOL: true } }),
    ...(value.deleteTime !== undefined && { d: N(value.deleteTime) }),
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
      createTime: num(item, "c"),
      updateTime: num(item, "l"),
      ...(item.d && { deleteTime: num(item, "d") }),
    };
  },
};

/** A key cannot be empty. No user id contains `#`. */
const noActorKey = "#";

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

/** The partition of all reactions of one kind to a target. */
export const reactionsKey = ({ type, id }: TargetName, kind: StoredKind): AttributeValue =>
  S(`R#${type}#${id}#${kind}`);

/** A partition with a local index, here `by-n`, has a limit of its size. */
const partitionLimit = "10 GB";

/** The error of a reaction, by its id, whose partition has reached its limit. */
export function reactionsFull(name: string): DomainError {
  const [type, id, kind] = name.split("#") as [string, string, string];
  const text = `the target ${type} ${id} holds at most ${partitionLimit} of ${kindName(kind)}`;
  const metadata = { limit: partitionLimit, target_type: type, target_id: id };
  return new DomainError("LIMIT_EXCEEDED", text, metadata);
}

export const reaction: Codec<"reaction"> = {
  table: "reactions",
  key: (name) => {
    const [type, id, kind, userId] = name.split("#") as [string, string, string, string];
    return { pk: reactionsKey({ type, id }, kind), sk: S(userId || noActorKey) };
  },
  encode: (value) => {
    if (!("userId" in value)) {
      return { e: N(value.quietUntil), ttl: N(Math.ceil(value.quietUntil / 1_000)) };
    }
    const time = N(value.createTime);
    return {
      a: S(value.displayName),
      n: N(value.version),
      // Without `t` an item is not in the index by person, which lists reactions only.
      ...(isEventKind(value.kind) ? { w: time } : { t: time }),
      ...(!value.notified && { q: { BOOL: true } }),
      ...(value.quietUntil !== undefined && { e: N(value.quietUntil) }),
    };
  },
  decode: (item) => {
    const quietUntil = optional(item, "e");
    if (!item.n) return { quietUntil: quietUntil ?? 0 };
    const [, type, id, kind] = parts(item, "pk") as [string, string, string, string];
    const person = text(item, "sk");
    return {
      target: { type, id },
      kind,
      userId: person === noActorKey ? noActor : person,
      displayName: text(item, "a"),
      version: num(item, "n"),
      notified: item.q === undefined,
      createTime: num(item, item.t ? "t" : "w"),
      ...(quietUntil !== undefined && { quietUntil }),
    };
  },
};
