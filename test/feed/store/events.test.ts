/** Tests the readers of events: counts, next events, owners, and what a purge deletes. */
import { describe, expect, test } from "vitest";
import { eventActorRef, eventOwnerRef, readGroupRef } from "../../../src/feed/ports/records.ts";
import type { Event, EventsName } from "../../../src/feed/rules/event.ts";
import { noActor } from "../../../src/feed/rules/target.ts";
import { memberQueries } from "../../../src/feed/store/group-members.ts";
import { eventRefOf, storedEvent } from "../../support/fixtures/stored-events.ts";
import {
  newTarget,
  newUser,
  putRead,
  range,
  readGroup,
} from "../../support/fixtures/stored-reactions.ts";
import { openMemory as open } from "../../support/stores/both-stores.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";
import { fill, pages, write } from "../../support/stores/records.ts";

const newName = (): EventsName => ({
  ownerId: newUser(),
  target: newTarget(),
  kind: "~comment",
});

const put = (event: Event) => write(eventRefOf(event), event);

/** The events of the versions from 1 to `count`, by turns of these people, linked. */
function eventsOf(name: EventsName, count: number, people: readonly string[]): Event[] {
  return range(1, count).map((version) =>
    storedEvent({
      ...name,
      version,
      userId: people[(version - 1) % people.length] as string,
      previousVersion: Math.max(0, version - people.length),
    }),
  );
}

/** Names of which no event belongs to the name. */
const otherNames = (name: EventsName): EventsName[] => [
  { ...name, ownerId: `${name.ownerId}x` },
  { ...name, kind: "~comments" },
  { ...name, target: { ...name.target, id: `${name.target.id}x` } },
];

describe("events", () => {
  /** Sets up a name with events, actors, and events of other names. */
  async function setUp(count: number, people: readonly string[]) {
    const { itemStore: store, client, reader, purger } = createMemoryStore();
    const name = newName();
    const events = eventsOf(name, count, people);
    const actor = (userId: string) =>
      write(eventActorRef(name, userId), { userId, latestVersion: count, expireTime: 1 });
    const others = otherNames(name).map((other) => storedEvent({ ...other, version: 3 }));
    await fill(store, [...[...events, ...others].map(put), ...people.map(actor)]);
    const queries = memberQueries(client, "reactions");
    return { store, queries, reader, purger, name, events, others };
  }

  test("are counted after a version, with their people", async () => {
    const { queries, name } = await setUp(12, ["a", noActor, "b", "c"]);
    const count = (generation: number, after: number, to: number) =>
      queries.countEvents(name, { generation, after, to });
    expect(await count(1, 6, 12)).toEqual({ count: 6, actorCount: 4, newActorCount: 0 });
    expect(await count(1, 2, 3)).toEqual({ count: 1, actorCount: 1, newActorCount: 1 });
    expect(await count(5, 6, 12)).toEqual({ count: 6, actorCount: 4, newActorCount: 2 });
    expect(await count(1, 12, 20)).toEqual({ count: 0, actorCount: 0, newActorCount: 0 });
  });

  test("of one actor: the next one after a version", async () => {
    const { reader, name, events } = await setUp(9, ["a", noActor, "aa"]);
    expect(await reader.nextEvent(name, "a", 1)).toEqual(events[3]);
    expect(await reader.nextEvent(name, noActor, 5)).toEqual(events[7]);
    expect(await reader.nextEvent(name, "a", 7)).toBeUndefined();
    expect(await reader.nextEvent(name, "b", 0)).toBeUndefined();
  });

  test("of one name are purged with their actors, 1,000 items at a time", async () => {
    const { reader, purger, name, events, others } = await setUp(1_030, ["a", noActor]);
    expect(await purger.events(name)).toBe(true);
    expect(await purger.events(name)).toBe(false);
    expect(await reader.many(events.map(eventRefOf))).toEqual(events.map(() => undefined));
    expect(await reader.get(eventActorRef(name, "a"))).toBeUndefined();
    expect(await reader.many(others.map(eventRefOf))).toEqual(others);
  });
});

describe("what belongs to events", () => {
  test("the owners who were notified about a target, of all or of one", async () => {
    const { store, reader } = open();
    const target = newTarget();
    const owners = ["ann", "ann", "anna", "bob"].map((ownerId, i) => ({
      ownerId,
      target,
      kind: `~k${i}` as const,
    }));
    const other = { ownerId: "ann", target: { ...target, id: `${target.id}x` }, kind: "~k" };
    await fill(
      store,
      [...owners, other].map((each) => write(eventOwnerRef(each), each)),
    );
    const list = async (ownerId?: string) =>
      (await pages((page) => reader.eventOwners(target, page, ownerId), 3)).flat();
    expect(await list()).toEqual(owners);
    expect(await list("ann")).toEqual(owners.slice(0, 2));
  });

  test("the read group that began latest at a version or before it", async () => {
    const { store, reader } = open();
    const name = newName();
    const groupOf = (generation: number, { target, kind } = name) => {
      const members = [{ userId: "u", displayName: "U", version: generation + 5, createTime: 1 }];
      const shown = { firstMembers: members, latestMembers: members };
      return readGroup(target, generation + 5, { kind, generation, ...shown });
    };
    const groups = [groupOf(1), groupOf(10), groupOf(20)];
    const others = otherNames(name).map((other) => putRead(other.ownerId, groupOf(12, other)));
    await fill(store, [...groups.map((group) => putRead(name.ownerId, group)), ...others]);
    expect(await reader.readGroupFrom(name, 19)).toEqual(groups[1]);
    expect(await reader.readGroupFrom(name, 20)).toEqual(groups[2]);
    expect(await reader.readGroupFrom(name, 999)).toEqual(groups[2]);
    const [first] = groups as [(typeof groups)[number]];
    const ref = readGroupRef(name.ownerId, name.target, name.kind, first.generation);
    expect((await reader.get(ref))?.value).toEqual(first);
    expect(await reader.readGroupFrom({ ...name, kind: "~other" }, 9)).toBeUndefined();
  });
});
