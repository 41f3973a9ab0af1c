/** Tests the reading of the streams of DynamoDB Local, with what the item store writes. */
import { afterAll, expect, test } from "vitest";
import type { StoredChange } from "../../../src/events/ports/changes.ts";
import { accountRef, entryRef, eventRef } from "../../../src/points/ports/records.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { createDynamoItemStore } from "../../../src/store/item-store.ts";
import { decodeChange } from "../../../src/store/stream-records.ts";
import { account, entry, eventKey, reservation } from "../../support/fixtures/stored-points.ts";
import { ownTables } from "../../support/stores/own-tables.ts";
import { fill, write } from "../../support/stores/records.ts";
import { createStreamReader, nothingStored } from "../../support/streams/stream-reader.ts";

const { endpoint, prefix, names, clients } = ownTables("streams");
const reader = createStreamReader({ endpoint, prefix, decode: decodeChange });
afterAll(() => reader.close());

/** A change of an account as a grant writes it: `count` entries from a number on. */
const grant = (userId: string, first: number, count: number) => {
  const numbers = Array.from({ length: count }, (_, i) => first + i);
  return [
    write(accountRef("p", userId), account("p", userId, { last: first + count - 1 }), first - 1),
    ...numbers.map((number) => write(entryRef("p", userId, number), entry(number))),
    ...numbers.map((number) => write(eventRef("p", userId, `c:e${number}`), eventKey(number))),
  ];
};

const idsOf = (changes: readonly StoredChange[]) =>
  changes.flatMap(({ after }) => after.map(({ id }) => id));

test("a transaction arrives whole, accounts keep their order, and reading goes on", async () => {
  const store = createDynamoItemStore(clients.single, names);
  const users = Array.from({ length: 12 }, (_, i) => `u${i}`);
  const id = (userId: string, number: number) => entryRef("p", userId, number).id;
  const stored = nothingStored();
  const write3 = async (userId: string, first: number) => {
    const [change, ...rest] = grant(userId, first, 3);
    const version = first === 1 ? 0 : (first - 1) / 3;
    await fill(store, [{ ...(change as (typeof rest)[0]), version, next: version + 1 }, ...rest]);
  };
  await Promise.all(users.map((userId) => write3(userId, 1)));
  await fill(store, [write(reservationRef("p", "r1"), reservation("p", "r1"))]);
  await reader.readUntil(stored, () => expect(idsOf(stored.changes)).toHaveLength(37));

  await Promise.all(
    users.map(async (userId) => {
      for (const first of [4, 7, 10]) await write3(userId, first);
    }),
  );
  await reader.readUntil(stored, () => expect(idsOf(stored.changes)).toHaveLength(145));
  const ids = idsOf(stored.changes);
  for (const userId of users) {
    const own = ids.filter((each) => each.startsWith(`p#${userId}#`));
    expect(own).toEqual(Array.from({ length: 12 }, (_, i) => id(userId, i + 1)));
  }
  expect(ids.filter((each) => each === "p#r1")).toHaveLength(1);
  expect(stored.changes.flatMap(({ unreadable }) => unreadable ?? [])).toEqual([]);
  expect(stored.gaps).toEqual([]);
  // Items of other kinds, such as the keys of events, are changes without records.
  expect(stored.changes.some(({ after }) => after.length === 0)).toBe(true);
  // The three entries of a change share an item.
  expect(stored.changes.filter(({ after }) => after.length === 3)).toHaveLength(48);
});
