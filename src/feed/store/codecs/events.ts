/** How events, their actors and their owners are stored, and the keys of notified events. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  as,
  type Field,
  field,
  flag,
  group,
  inKey,
  number,
  optional,
  partOf,
  text,
  unless,
} from "../../../platform/dynamodb/fields.ts";
import { type Item, N, pad, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { EventsName } from "../../rules/event.ts";
import { noActor } from "../../rules/target.ts";
import { ofPerson } from "./reactions.ts";

/** A key cannot be empty. No user id contains `#`. */
export const noActorKey = "#";

/** The partition of the events of one name, and of their actors. */
export const eventsKey = ({ ownerId, target: { type, id }, kind }: EventsName): AttributeValue =>
  S(`${partitionPrefix}${[ownerId, type, id, kind].join("#")}`);

const partitionPrefix = "V#";

/** Whether an item of the index by version is an event, not a reaction. */
export const isEventItem = (item: Item): boolean =>
  item.pk?.S?.startsWith(partitionPrefix) === true;

/** The sort key of an actor's event of this version. */
export const eventSortKey = (userId: string, version: number): AttributeValue =>
  S(`${actorKey(userId)}#${pad(version, 15)}`);

const actorKey = (userId: string): string => userId || noActorKey;

const ttl = (expireTime: number) => N(Math.ceil(expireTime / 1_000));

/** The actor, whose event has its version behind it. */
function actorOf(sortKey: string): string {
  const person = sortKey.slice(0, sortKey.lastIndexOf("#"));
  return person === noActorKey ? noActor : person;
}

const data: Field<Uint8Array> = {
  attribute: "b",
  put(value, item) {
    if (value.length > 0) item.b = { B: value };
  },
  get: (item) => Uint8Array.from(item.b?.B ?? []),
};

export const notificationEvent = defineRecord<"notificationEvent">({
  table: "reactions",
  key: (id) => {
    const { name, userId, rest } = split(id);
    return { pk: eventsKey(name), sk: eventSortKey(userId, Number(rest)) };
  },
  fields: {
    ownerId: partOf("pk", 1),
    target: group<TargetName>({ type: partOf("pk", 2), id: partOf("pk", 3) }),
    kind: partOf("pk", 4),
    userId: inKey("sk", actorOf),
    displayName: field("a", text),
    service: unless("", "s", text),
    eventId: field("i", text),
    link: unless("", "u", text),
    data,
    cause: optional("o", text),
    version: field("n", number),
    previousVersion: unless(0, "p", number),
    // Without `t` an item is not in the index by person, which lists reactions only.
    createTime: field("w", number),
    expireTime: field("x", number),
  },
  derived: ({ expireTime }) => ({ ttl: ttl(expireTime) }),
});

export const eventActor = defineRecord<"eventActor">({
  table: "reactions",
  key: (id) => {
    const { name, userId } = split(id);
    return { pk: eventsKey(name), sk: S(actorKey(userId)) };
  },
  fields: {
    userId: inKey("sk", (key) => (key === noActorKey ? noActor : key)),
    latestVersion: field("l", number),
    expireTime: field("x", number),
  },
  derived: ({ userId, expireTime }) => ({ ...(userId && ofPerson(userId)), ttl: ttl(expireTime) }),
});

/** The partition of the owners who were notified of events about a target. */
export const eventOwnersKey = ({ type, id }: TargetName): AttributeValue => S(`W#${type}#${id}`);

export const eventOwner = defineRecord<"eventOwner">({
  table: "reactions",
  key: (name) => {
    const [type, id, ownerId, kind] = name.split("#") as [string, string, string, string];
    return { pk: eventOwnersKey({ type, id }), sk: S(`${ownerId}#${kind}`) };
  },
  fields: {
    ownerId: partOf("sk", 0),
    target: group<TargetName>({ type: partOf("pk", 1), id: partOf("pk", 2) }),
    kind: partOf("sk", 1),
  },
  derived: ({ ownerId }) => ofPerson(ownerId),
});

const targetName = as(
  text,
  ({ type, id }: TargetName) => `${type}#${id}`,
  (stored): TargetName => {
    const [type = "", id = ""] = stored.split("#");
    return { type, id };
  },
);

/** An event that a service has reported by Notify; of Meguri's own events the service is empty. */
export const notifiedEvent = defineRecord<"notifiedEvent">({
  table: "notifications",
  key: (name) => {
    const [ownerId, service, eventId] = name.split("#") as [string, string, string];
    return { pk: S(`E#${ownerId}`), sk: S(`${service}#${eventId}`) };
  },
  fields: {
    hash: field("h", text),
    target: field("t", targetName),
    kind: field("k", text),
    version: unless(0, "n", number),
    retracted: flag("r"),
    expireTime: field("x", number),
  },
  derived: ({ expireTime }) => ({ ttl: ttl(expireTime) }),
});

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
