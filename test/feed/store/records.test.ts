/** Tests transactions on records of reactions on both stores, and what comes back of them. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  eventActorRef,
  eventOwnerRef,
  inboxRef,
  mutedHashRef,
  mutedPersonRef,
  mutedTargetRef,
  notifiedEventRef,
  reactionRef,
  targetRef,
} from "../../../src/feed/ports/records.ts";
import { emptyInbox, maxUnseen } from "../../../src/feed/rules/inbox.ts";
import { personHashes } from "../../../src/feed/rules/muted-people.ts";
import { noActor } from "../../../src/feed/rules/target.ts";
import { largestRecords, type NamedRecord } from "../../support/fixtures/largest-records.ts";
import { eventRefOf, notifiedEvent, storedEvent } from "../../support/fixtures/stored-events.ts";
import {
  inbox,
  newTarget,
  newUser,
  put,
  reaction,
  readGroup,
  readRefOf,
  refOf,
  target,
  unreadGroup,
  unreadRefOf,
} from "../../support/fixtures/stored-reactions.ts";
import { bothStores } from "../../support/stores/both-stores.ts";
import { firstVersion } from "../../support/stores/first-version.ts";
import { check, fill, remove, write } from "../../support/stores/records.ts";

const { stores } = bothStores();

describe.each(stores)("%s: transactions", (_, open) => {
  const setUp = () => {
    const name = newTarget();
    const [a, b] = [reaction(name, 1), reaction(name, 2)];
    return { ...open(), name, a, b };
  };

  test("a deleted record is absent, and a new one starts at its own version", async () => {
    const { store, a } = setUp();
    await fill(store, [put({ ...a, version: 7 })]);
    expect(await store.read([refOf(a)])).toEqual([{ value: { ...a, version: 7 }, version: 7 }]);
    const stale = await store.commit([remove(refOf(a), 6)], randomUUID());
    expect(stale).toMatchObject({ kind: "failed" });
    await fill(store, [remove(refOf(a), 7)]);
    expect(await store.read([refOf(a)])).toEqual([{ value: undefined, version: 0 }]);
    await fill(store, [put({ ...a, version: 9 })]);
    expect((await store.read([refOf(a)]))[0]?.version).toBe(9);
  });

  test("a reaction that is unreacted and made again never has an earlier version", async () => {
    const { store, a } = setUp();
    const ref = refOf(a);
    const read = { readTime: 1_790_000_500_000 };
    const former = { ...read, createTime: a.createTime, expireTime: 1_790_000_600_000 };
    const again = { ...a, version: 9, notified: false, ...read };
    await fill(store, [put({ ...a, version: 7 })]);
    for (const [value, version] of [
      [former, 7],
      [again, 8],
      [former, 9],
    ] as const) {
      const stale = await store.commit([write(ref, value, version - 1)], randomUUID());
      expect(stale).toMatchObject({ kind: "failed" });
      await fill(store, [write(ref, value, version)]);
      expect(await store.read([ref])).toEqual([{ value, version: version + 1 }]);
    }
    // TTL deletes the record. The next reaction takes a later version of the inbox.
    await fill(store, [remove(ref, 10), put({ ...reaction(a.target, 99), version: 11 })]);
    await fill(store, [put({ ...a, version: 12 })]);
    expect(await store.read([ref])).toEqual([{ value: { ...a, version: 12 }, version: 12 }]);
  });

  test("an absent record may be deleted, if it is absent", async () => {
    const { store, a, b } = setUp();
    await fill(store, [remove(refOf(a), 0), put(b)]);
    expect((await store.read([refOf(a), refOf(b)])).map(({ version }) => version)).toEqual([0, 2]);
    const result = await store.commit([remove(refOf(b), 0)], randomUUID());
    expect(result).toMatchObject({ kind: "failed" });
    if (result.kind !== "failed") return;
    expect([...result.found.values()]).toEqual([{ value: b, version: 2 }]);
    expect((await store.read([refOf(b)]))[0]?.version).toBe(2);
  });

  test("a check changes nothing, and its condition cancels all writes", async () => {
    const { store, a, b } = setUp();
    const ref = inboxRef(newUser());
    await fill(store, [put(a)]);
    await fill(store, [check(refOf(a), 1), check(refOf(b), 0), write(ref, inbox(1))]);
    expect(await store.read([refOf(a), refOf(b)])).toEqual([
      { value: a, version: 1 },
      { value: undefined, version: 0 },
    ]);

    const failed = await store.commit(
      [check(refOf(a), 0), check(refOf(b), 5), remove(ref, 1)],
      randomUUID(),
    );
    if (failed.kind !== "failed") throw new Error(failed.kind);
    expect([...failed.found].map(([{ id }, loaded]) => [id, loaded])).toEqual([
      [refOf(a).id, { value: a, version: 1 }],
      [refOf(b).id, { value: undefined, version: 0 }],
    ]);
    expect((await store.read([ref]))[0]?.version).toBe(1);
  });
});

describe.each(stores)("%s: records", (_, open) => {
  /** Writes records, expects that each read of them returns the same, and deletes them. */
  async function roundTrip(all: readonly NamedRecord[]): Promise<void> {
    const { store, reader } = open();
    const refs = all.map(([, ref]) => ref);
    await fill(
      store,
      all.map(([, ref, value]) => write(ref, value)),
    );
    const loaded = await store.read(refs);
    const together = await store.readAtomically(refs);
    for (const [i, [what, ref, value]] of all.entries()) {
      const version = firstVersion(ref.kind, value);
      expect.soft(loaded[i], what).toEqual({ value, version });
      expect.soft(together?.[i], what).toEqual({ value, version });
      expect.soft(await reader.get(ref), what).toEqual({ value, version });
    }
    await fill(
      store,
      refs.map((ref, i) => remove(ref, loaded[i]?.version ?? 0)),
    );
  }

  test("the largest ones come back as they were written", () => roundTrip(largestRecords));

  test("small and unusual ones come back as they were written", async () => {
    const name = { type: "a-b_c", id: `!~:/@$\\"${randomUUID()}` };
    const [ownerId, userId] = [newUser(), newUser()];
    const bare = { title: "", link: "", counts: {}, ownerId };
    const data = Uint8Array.from([0, 255]);
    const more = { userId, version: 5, previousVersion: 2, link: "/c/5", data };
    const event = storedEvent({ ownerId, target: name, ...more });
    const bareEvent = { ownerId, target: name, service: "", version: 6 };
    const byNobody = storedEvent({ ...bareEvent, userId: noActor, displayName: "120" });
    const unread = unreadGroup(name, 3);
    const alone = { userId: noActor, displayName: "", version: 4, createTime: 0 };
    const ofNobody = unreadGroup(name, 4, {
      kind: "~comment",
      actorCount: 1,
      firstMembers: [alone],
      latestMembers: [alone],
      recent: { after: 3, count: 1, middle: 3, lateCount: 1, middleTime: 0 },
    });
    const read = readGroup(name, 3);
    const reported = notifiedEvent({ target: name, version: 0, retracted: true });
    await roundTrip([
      ["target without texts", targetRef(name), target(name, bare)],
      ["reaction", refOf(reaction(name, 3)), reaction(name, 3)],
      [
        "reaction without a name",
        reactionRef(name, "like", userId),
        reaction(name, 4, { userId, displayName: "" }),
      ],
      ["event", eventRefOf(event), event],
      ["event without an actor", eventRefOf(byNobody), byNobody],
      ["actor", eventActorRef(event, userId), { userId, latestVersion: 5, expireTime: 1 }],
      [
        "no actor",
        eventActorRef(event, noActor),
        { userId: noActor, latestVersion: 6, expireTime: 1 },
      ],
      ["owner of events", eventOwnerRef(event), { ownerId, target: name, kind: "~comment" }],
      ["unread group", unreadRefOf(ownerId, unread), unread],
      ["unread group without an actor", unreadRefOf(ownerId, ofNobody), ofNobody],
      ["read group", readRefOf(ownerId, read), read],
      ["muted person", mutedPersonRef(ownerId, userId), { userId, time: 1 }],
      ["muted hash", mutedHashRef(ownerId, 2_047), { count: 5 }],
      ["muted target", mutedTargetRef(ownerId, name), { target: name, time: 1 }],
      ["notified event", notifiedEventRef(ownerId, "blog", `~!"/${userId}`.slice(0, 64)), reported],
    ]);
  });

  // Differences of one and of several bytes, at the limits of a byte.
  const gaps = [1, 127, 128, 129, 16_383, 16_384, 2 ** 21, 2 ** 40];
  const unseen = [2 ** 52];
  while (unseen.length < maxUnseen) {
    unseen.push((unseen.at(-1) as number) - (gaps[unseen.length % gaps.length] as number));
  }

  const nothingMuted = emptyInbox.preferences;

  test.each([
    ["empty", emptyInbox],
    ["with versions that have changed nothing unread", inbox(9, { changeVersion: 7 })],
    ["in which nothing unread has ever changed", inbox(9, { changeVersion: 0 })],
    ["with one unseen version", inbox(7, { seenVersion: 6, unseen: [7] })],
    ["with many unseen versions", inbox(2 ** 52, { unseen, olderUnseenCount: 12 })],
    ["with a muted person", inbox(8, { mutedPeople: { count: 1, hashes: 1n } })],
    [
      "with muted people of all hashes",
      inbox(9, { mutedPeople: { count: 9_999, hashes: 2n ** BigInt(personHashes) - 1n } }),
    ],
    ["with muted kinds", inbox(9, { preferences: { ...nothingMuted, mutedKinds: ["a", "b-c"] } })],
    [
      "with muted kinds of events",
      inbox(9, { preferences: { ...nothingMuted, mutedEventKinds: ["a", "b-c"] } }),
    ],
    ["with kinds", inbox(9, { kindCounts: { like: 3, "~like": 1, constructor: 2 } })],
    ["with all muted", inbox(9, { preferences: { ...nothingMuted, allMuted: true } })],
  ])("an inbox %s comes back as it was written", (what, value) =>
    roundTrip([[what, inboxRef(newUser()), value]]),
  );
});
