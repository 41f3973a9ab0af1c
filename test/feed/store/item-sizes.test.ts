/** Tests that the items of reactions and notifications stay under 1 KB and have the right TTL. */
import { describe, expect, test } from "vitest";
import {
  eventActorRef,
  inboxRef,
  notifiedEventRef,
  reactionRef,
} from "../../../src/feed/ports/records.ts";
import { maxUnseen } from "../../../src/feed/rules/inbox.ts";
import { eventKind } from "../../../src/feed/rules/kinds.ts";
import { maxMutedPeople } from "../../../src/feed/rules/muted-people.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import type { Kind, Records, Ref } from "../../../src/platform/ports/records.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { largestCommonRecords, largestRecords } from "../../support/fixtures/largest-records.ts";
import { eventRefOf, notifiedEvent, storedEvent } from "../../support/fixtures/stored-events.ts";
import {
  inbox,
  newTarget,
  range,
  reaction,
  readGroup,
  readRefOf,
  refOf,
  unreadGroup,
  unreadRefOf,
} from "../../support/fixtures/stored-reactions.ts";

const sizeOf = (ref: Ref, value: Records[Kind]): number =>
  itemSize(toItem(ref, value, Number.MAX_SAFE_INTEGER - 1));

test.each(largestCommonRecords)(
  "with common ids the largest %s is under 1 KB, or an inbox under 2 KB",
  (what, ...item) => {
    expect(sizeOf(...item)).toBeLessThan(what === "inbox" ? 2048 : 1024);
  },
);

/** The kinds of item that may exceed 1 KB with the longest ids and kinds, and their limits. */
const largerItems = new Map([
  ["target", 4096],
  ["inbox", 4096],
  ["list of closed groups", 4096],
  ["unread group", 2048],
  ["closed group", 2048],
  ["read group", 2048],
  ["event", 2048],
]);

test.each(largestRecords)("with the longest ids, the largest %s", (what, ...item) => {
  expect(sizeOf(...item)).toBeLessThan(largerItems.get(what) ?? 1024);
});

test("a large inbox is under 1 KB", () => {
  const kinds = range(1, 12).map((i) => `kind-${100 + i}`);
  const large = inbox(10 ** 9, {
    unseen: range(0, maxUnseen - 1).map((i) => 10 ** 9 - i * (2 ** 14 - 1)),
    olderUnseenCount: 900,
    kindCounts: Object.fromEntries(kinds.map((kind) => [eventKind(kind), 99])),
    preferences: {
      allMuted: true,
      mutedKinds: kinds.slice(0, 2),
      mutedEventKinds: kinds.slice(0, 2),
    },
    mutedPeople: { count: maxMutedPeople, hashes: 1n },
  });
  expect(sizeOf(inboxRef("o".repeat(128)), large)).toBeLessThan(1024);
});

describe("attributes of an item", () => {
  const name = newTarget();
  const record = reaction(name, 1);
  const event = storedEvent({ expireTime: 5_001 });
  const item = (ref: Ref, value: Records[Kind]): Item => toItem(ref, value, 1);

  test.each<[string, Item, string | undefined]>([
    [
      "a former reaction",
      item(refOf(record), { readTime: 1, createTime: 1, expireTime: 5_001 }),
      "6",
    ],
    ["a read group", itemOfRead(5_001), "6"],
    [
      "an event's id",
      item(notifiedEventRef("o", "s", "e"), notifiedEvent({ expireTime: 5_000 })),
      "5",
    ],
    ["a reaction in its cool-down", item(refOf(record), { ...record, readTime: 5_001 }), undefined],
    ["an event", item(eventRefOf(event), event), "6"],
    ["an actor of events", itemOfActor(), "6"],
    ["an inbox", item(inboxRef("o"), inbox(1)), undefined],
    ["an unread group", itemOfUnread(), undefined],
  ])("%s: when DynamoDB deletes it, in seconds", (_, { ttl }, seconds) => {
    expect(ttl?.N).toBe(seconds);
  });

  test("only active records are in by-n, and only reactions in by-person", () => {
    const records = [item(refOf(record), record), item(eventRefOf(event), event), itemOfActor()];
    const left = { readTime: 1, createTime: 1, expireTime: 5_001 };
    const former = item(reactionRef(name, "like", "u"), left);
    expect([...records, former].map((each) => ["n" in each, "t" in each])).toEqual([
      [true, true],
      [true, false],
      [false, false],
      [false, true],
    ]);
  });

  test("only groups are in by-last", () => {
    const all = [itemOfUnread(), itemOfRead(1), item(inboxRef("o"), inbox(1))];
    expect(all.map((each) => "l" in each)).toEqual([true, true, false]);
  });

  function itemOfActor(): Item {
    const { userId } = event;
    return item(eventActorRef(event, userId), { userId, latestVersion: 1, expireTime: 5_001 });
  }

  function itemOfRead(expireTime: number): Item {
    const read = readGroup(name, 1, { expireTime });
    return item(readRefOf("o", read), read);
  }

  function itemOfUnread(): Item {
    const unread = unreadGroup(name, 1);
    return item(unreadRefOf("o", unread), unread);
  }
});
