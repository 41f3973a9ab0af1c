/** Tests the reactions of one person, and what a purge of reactions deletes. */
import { describe, expect, test } from "vitest";
import { pendingPurgeRef, reactionRef, targetRef } from "../../../src/feed/ports/records.ts";
import { noActor, type Reaction } from "../../../src/feed/rules/target.ts";
import { eventRefOf, storedEvent } from "../../support/fixtures/stored-events.ts";
import {
  newTarget,
  newUser,
  put,
  range,
  reaction,
  refOf,
  target,
} from "../../support/fixtures/stored-reactions.ts";
import { openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, pages, remove, write } from "../../support/stores/records.ts";

const former = {
  position: { version: 4, generation: 2 },
  createTime: -1,
  expireTime: 1_790_000_900_000,
};

describe("reactions", () => {
  test("of one person, newest first, without former ones and events", async () => {
    const { store, reader } = open();
    const userId = newUser();
    // Some at the same instant; their versions are of different owners and give no order.
    const records = range(0, 11).map((i) =>
      reaction(newTarget(), 100 - i, {
        userId,
        createTime: Math.floor(i / 2),
        notified: i % 3 === 0,
      }),
    );
    const event = storedEvent({ userId });
    await fill(store, records.map(put));
    await fill(store, [
      write(eventRefOf(event), event),
      write(reactionRef(newTarget(), "like", userId), former),
    ]);
    const list = (size: number) => pages((page) => reader.reactionsOfUser(userId, page), size);
    const found = (await list(5)).flat();
    expect(found.map(({ createTime }) => createTime)).toEqual(
      records.map(({ createTime }) => createTime).reverse(),
    );
    const byNumber = (a: Reaction, b: Reaction) => b.version - a.version;
    expect(found.toSorted(byNumber)).toEqual(records);
    const all = (await list(100)).flat();
    for (const [i, record] of all.entries()) {
      const cursor = reader.cursorOfUserAfter(record);
      const { items } = await reader.reactionsOfUser(userId, { size: 3, cursor });
      expect(items).toEqual(all.slice(i + 1, i + 4));
    }
    const [first, second] = records as [Reaction, Reaction];
    await fill(store, [remove(refOf(first), 100), write(refOf(second), former, 99)]);
    expect((await list(100)).flat()).toHaveLength(10);
  });

  test("targets, pending purges and events without an actor are in no person's list", async () => {
    const { store, reader } = open();
    const name = newTarget();
    const event = storedEvent({ target: name, userId: noActor });
    const purge = { target: name, ownerId: "owner", deleteTime: 1 };
    const record = reaction(name, 2, { userId: "T" });
    await fill(store, [
      write(targetRef(name), target(name)),
      write(pendingPurgeRef(name), purge),
      write(eventRefOf(event), event),
      put(record),
    ]);
    // The sort keys of these items as ids of people.
    const listed = async (userId: string) => {
      const found = await pages((page) => reader.reactionsOfUser(userId, page), 99);
      return found.flat().filter((each) => each.target.id === name.id);
    };
    expect(await listed("T")).toEqual([record]);
    expect(await listed(`${name.type}#${name.id}`)).toEqual([]);
    expect(await listed("#")).toEqual([]);
    await fill(store, [remove(refOf(record), 2), remove(pendingPurgeRef(name), 1)]);
  });
});

describe("purges", () => {
  test("of reactions of one kind to one target, 1,000 at a time", async () => {
    const { store, reader, purger } = open();
    const [name, userId] = [newTarget(), newUser()];
    const records = range(1, 1_030).map((n) => reaction(name, n, { userId: `u${n}` }));
    const gone = reactionRef(name, "like", userId);
    const kept = [
      reaction(name, 2_000, { kind: "love", userId }),
      reaction({ ...name, id: `${name.id}x` }, 2_002, { userId }),
    ];
    await fill(store, [...[...records, ...kept].map(put), write(gone, former)]);
    expect(await purger.reactions(name, "like")).toBe(true);
    const left = await reader.many([gone, ...records.map(refOf)]);
    expect(left.filter((record) => record !== undefined)).toHaveLength(31);
    expect(await purger.reactions(name, "like")).toBe(false);
    expect(await purger.reactions(name, "like")).toBe(false);
    const found = await reader.many([gone, ...records.map(refOf)]);
    expect(found.every((record) => record === undefined)).toBe(true);
    expect(await reader.many(kept.map(refOf))).toEqual(kept);
  });
});
