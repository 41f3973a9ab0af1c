/** How read and closed groups are stored, and what an owner has read or muted. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import { field, group, number, partOf } from "../../../platform/dynamodb/fields.ts";
import {
  N,
  num,
  pad,
  parts,
  S,
  strings,
  texts,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { decodeGroup, encodeGroup } from "./groups.ts";
import { inboxKey } from "./reactions.ts";
import { decodeVarints, encodeVarints } from "./varints.ts";

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
  // The index by which all that is of a person is found.
  derived: ({ userId }) => ({ ip: S(userId) }),
});

/** How many muted people of an owner have the same hash. */
export const mutedHash = defineRecord<"mutedHash">({
  table: "notifications",
  key: (id) => {
    const [ownerId, hash] = split(id);
    return { pk: inboxKey(ownerId), sk: S(`M#${hash}`) };
  },
  fields: { count: field("n", number) },
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
