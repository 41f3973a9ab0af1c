/** Reads events and the owners who were notified of them in the store in memory. */
import type { EventReader } from "../../../src/app/ports/events.ts";
import type { EventCounts } from "../../../src/app/ports/notifications.ts";
import type { Records } from "../../../src/app/ports/records.ts";
import { countsActor, type Event, type EventsName } from "../../../src/domain/event.ts";
import { padBack, pageOf, type Stored } from "./memory-pages.ts";

type MemoryRecords = ReadonlyMap<string, Stored>;

const idOf = ({ ownerId, target: { type, id }, kind }: EventsName) =>
  [ownerId, type, id, kind].join("#");

/** The events of one name, earliest first. */
export function eventsOf(records: MemoryRecords, name: EventsName): Event[] {
  const prefix = `notificationEvent#${idOf(name)}#`;
  return [...records.entries()]
    .filter(([id]) => id.startsWith(prefix))
    .map(([, { value }]) => value as Event)
    .sort((a, b) => a.version - b.version);
}

export function countEvents(
  records: MemoryRecords,
  name: EventsName,
  { generation, after, to }: { generation: number; after: number; to: number },
): EventCounts {
  const found = eventsOf(records, name).filter(({ version }) => version > after && version <= to);
  const countFrom = (from: number) => found.filter((event) => countsActor(event, from)).length;
  return {
    count: found.length,
    actorCount: countFrom(after + 1),
    newActorCount: countFrom(generation),
  };
}

export function eventReads(records: MemoryRecords): EventReader {
  return {
    async events(name, { from, to }, page) {
      const sorted = eventsOf(records, name)
        .filter(({ version }) => version >= from && version <= to)
        .map((record) => ({ sort: padBack(record.version), record }));
      return pageOf(`events ${idOf(name)}`, sorted, page);
    },

    nextEvent: async (name, userId, version) =>
      eventsOf(records, name).find((each) => each.userId === userId && each.version > version),

    async eventOwners({ type, id }, page, ownerId) {
      const sorted = [...records.values()]
        .filter(({ ref }) => ref.kind === "eventOwner" && ref.id.startsWith(`${type}#${id}#`))
        .map(({ ref, value }) => ({
          sort: ref.id,
          record: value as Records["eventOwner"],
        }))
        .filter(({ record }) => ownerId === undefined || record.ownerId === ownerId);
      return pageOf(`owners of ${type}#${id}`, sorted, page);
    },
  };
}

/** Whether a record is an event, or an actor, of one name. */
export const isOfEvents = (recordName: string, name: EventsName): boolean =>
  ["notificationEvent", "eventActor"].some((kind) =>
    recordName.startsWith(`${kind}#${idOf(name)}#`),
  );
