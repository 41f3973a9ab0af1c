/** Tests that the items of reactions and notifications stay under 1 KB and have the right TTL. */
import { describe, expect, test } from "vitest";
import type { Kind, Records, Ref } from "../../../src/app/ports/records.ts";
import { inboxRef, notifiedEventRef, reactionRef } from "../../../src/app/ports/records.ts";
import { type Item, toItem } from "../../../src/store/dynamodb/codecs/index.ts";
import { itemSize } from "../../../src/store/dynamodb/sdk/item-size.ts";
import { largestRecords } from "../../support/fixtures/largest-records.ts";
import {
  inbox,
  newTarget,
  reaction,
  readGroup,
  readRefOf,
  refOf,
  unreadGroup,
  unreadRefOf,
} from "../../support/fixtures/stored-reactions.ts";

test.each(largestRecords)("the largest %s is under 1 KB", (_, ref, value) => {
  expect(itemSize(toItem(ref, value, Number.MAX_SAFE_INTEGER - 1))).toBeLessThan(1024);
});

describe("attributes of an item", () => {
  const name = newTarget();
  const record = reaction(name, 1);
  const event = reaction(name, 1, { kind: "~comment" });
  const item = (ref: Ref, value: Records[Kind]): Item => toItem(ref, value, 1);

  test.each<[string, Item, string | undefined]>([
    ["a withdrawn reaction", item(refOf(record), { quietUntil: 5_001 }), "6"],
    ["a read group", itemOfRead(5_001), "6"],
    [
      "an event's id",
      item(notifiedEventRef("o", "s", "e"), { hash: "h", notified: true, expireTime: 5_000 }),
      "5",
    ],
    [
      "a reaction in its cool-down",
      item(refOf(record), { ...record, quietUntil: 5_001 }),
      undefined,
    ],
    ["an event", item(refOf(event), event), undefined],
    ["an inbox", item(inboxRef("o"), inbox(1)), undefined],
    ["an unread group", itemOfUnread(), undefined],
  ])("%s: when DynamoDB deletes it, in seconds", (_, { ttl }, seconds) => {
    expect(ttl?.N).toBe(seconds);
  });

  test("only active records are in by-n, and only reactions in by-person", () => {
    const records = [item(refOf(record), record), item(refOf(event), event)];
    const withdrawn = item(reactionRef(name, "like", "u"), { quietUntil: 5_001 });
    expect([...records, withdrawn].map((each) => ["n" in each, "t" in each])).toEqual([
      [true, true],
      [true, false],
      [false, false],
    ]);
  });

  test("only unread groups are in by-last", () => {
    const all = [itemOfUnread(), itemOfRead(1), item(inboxRef("o"), inbox(1))];
    expect(all.map((each) => "l" in each)).toEqual([true, false, false]);
  });

  function itemOfRead(expireTime: number): Item {
    const read = readGroup(name, 1, { expireTime });
    return item(readRefOf("o", read), read);
  }

  function itemOfUnread(): Item {
    const unread = unreadGroup(name, 1);
    return item(unreadRefOf("o", unread), unread);
  }
});
