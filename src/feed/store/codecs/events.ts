/** How events, their actors and their owners are stored, and the keys of notified events. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import {
  type Item,
  N,
  num,
  pad,
  parts,
  S,
  text,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { EventsName } from "../../rules/event.ts";
import { noActor } from "../../rules/target.ts";

/** A key cannot be empty. No user id contains `#`. */
export const noActorKey = "#";

/** The partition of the events of one name, and of their actors. */
export const eventsKey = ({ ownerId, target: { type, id }, kind }: EventsName): AttributeValue =>
  S(`${partitionPrefix}${[ownerId, type, id, kind].join("#")}`);

const partitionPrefix = "V#";

/** Whether an item of the index by version is an event, not a reaction. */
export const isEventItem = (item: Item): boolean => text(item, "pk").startsWith(partitionPrefix);

/** The sort key of an actor's event of this version. */
export const eventSortKey = (userId: string, version: number): AttributeValue =>
  S(`${actorKey(userId)}#${pad(version, 15)}`);

const actorKey = (userId: string): string => userId || noActorKey;

const ttl = (expireTime: number) => N(Math.ceil(expireTime / 1_000));

export const notificationEvent: Codec<"notificationEvent"> = {
  table: "reactions",
  key: (id) => {
    const { name, userId, rest } = split(id);
    return { pk: eventsKey(name), sk: eventSortKey(userId, Number(rest)) };
  },
  encode: (value) => ({
    a: S(value.displayName),
    n: N(value.version),
    // Without `t` an item is not in the index by person, which lists reactions only.
    w: N(value.createTime),
    i: S(value.eventId),
    ...(value.previousVersion > 0 && { p: N(value.previousVersion) }),
    ...(value.service !== "" && { s: S(value.service) }),
    ...(value.link !== "" && { u: S(value.link) }),
    ...(value.data.length > 0 && { b: { B: value.data } }),
    ...(value.cause && { o: S(value.cause) }),
    x: N(value.expireTime),
    ttl: ttl(value.expireTime),
  }),
  decode: (item) => {
    const [, ownerId, type, id, kind] = parts(item, "pk") as [
      string,
      string,
      string,
      string,
      string,
    ];
    const sort = text(item, "sk");
    const person = sort.slice(0, sort.lastIndexOf("#"));
    return {
      ownerId,
      target: { type, id },
      kind,
      userId: person === noActorKey ? noActor : person,
      displayName: text(item, "a"),
      service: text(item, "s"),
      eventId: text(item, "i"),
      link: text(item, "u"),
      data: Uint8Array.from(item.b?.B ?? []),
      ...(item.o && { cause: text(item, "o") }),
      version: num(item, "n"),
      previousVersion: num(item, "p"),
      createTime: num(item, "w"),
      expireTime: num(item, "x"),
    };
  },
};

export const eventActor: Codec<"eventActor"> = {
  table: "reactions",
  key: (id) => {
    const { name, userId } = split(id);
    return { pk: eventsKey(name), sk: S(actorKey(userId)) };
  },
  encode: ({ latestVersion, expireTime }) => ({
    l: N(latestVersion),
    x: N(expireTime),
    ttl: ttl(expireTime),
  }),
  decode: (item) => ({ latestVersion: num(item, "l"), expireTime: num(item, "x") }),
};

/** The partition of the owners who were notified of events about a target. */
export const eventOwnersKey = ({ type, id }: TargetName): AttributeValue => S(`W#${type}#${id}`);

export const eventOwner: Codec<"eventOwner"> = {
  table: "reactions",
  key: (name) => {
    const [type, id, ownerId, kind] = name.split("#") as [string, string, string, string];
    return { pk: eventOwnersKey({ type, id }), sk: S(`${ownerId}#${kind}`) };
  },
  encode: () => ({}),
  decode: (item) => {
    const [, type, id] = parts(item, "pk") as [string, string, string];
    const [ownerId, kind] = parts(item, "sk") as [string, string];
    return { ownerId, target: { type, id }, kind };
  },
};

/** An event that a service has reported by Notify; of Meguri's own events the service is empty. */
export const notifiedEvent: Codec<"notifiedEvent"> = {
  table: "notifications",
  key: (name) => {
    const [ownerId, service, eventId] = name.split("#") as [string, string, string];
    return { pk: S(`E#${ownerId}#${service}`), sk: S(eventId) };
  },
  encode: ({ target: { type, id }, ...value }) => ({
    h: S(value.hash),
    ...(value.userId !== noActor && { a: S(value.userId) }),
    k: S(value.kind),
    t: S(`${type}#${id}`),
    ...(value.version > 0 && { n: N(value.version) }),
    ...(value.retracted && { r: { BOOL: true } }),
    x: N(value.expireTime),
    ttl: ttl(value.expireTime),
  }),
  decode: (item) => {
    const [type, id] = parts(item, "t") as [string, string];
    return {
      hash: text(item, "h"),
      userId: text(item, "a"),
      kind: text(item, "k"),
      target: { type, id },
      version: num(item, "n"),
      retracted: item.r !== undefined,
      expireTime: num(item, "x"),
    };
  },
};

/** The name, the actor and what follows in the id of a record of events. */
function split(id: string) {
  const [ownerId, type, target, kind, userId, rest] = id.split("#") as [
    string,
    string,
    string,
    string,
    string,
    string?,
  ];
  return { name: { ownerId, target: { type, id: target }, kind }, userId, rest };
}
