/** What the store in memory shows of a transaction while its items are applied one by one. */
import { expect, test } from "vitest";
import { accountRef, entryRef, eventRef, type Ref } from "../../../src/app/ports/records.ts";
import type { Account } from "../../../src/domain/account.ts";
import type { EventKey, LedgerEntry } from "../../../src/domain/ledger.ts";
import { createGate } from "../fixtures/account-fixture.ts";
import { write } from "./both-stores.ts";
import { createMemoryStore } from "./memory-store.ts";

const account = accountRef("p", "u");
const entries = [entryRef("p", "u", 1), entryRef("p", "u", 2)] as const;
const key = eventRef("p", "u", "c:a");

const entry = (number: number): LedgerEntry => ({
  number,
  type: "ISSUED",
  event: { origin: "c", eventId: "a" },
  createTime: 0,
  effectiveTime: 0,
  points: 1,
  changes: [{ month: 24_322, points: 1 }],
  total: "issued",
  frozen: false,
  balance: number,
  reason: "",
  caller: "test",
});
const state: Account = {
  programId: "p",
  userId: "u",
  month: 24_322,
  slots: [2, 0, 0],
  totals: { issued: 2, used: 0, expired: 0, refunded: 0, revoked: 0 },
  frozen: false,
  last: 2,
  time: 0,
};
const eventKey: EventKey = { hash: "1:x", entry: entry(1), balance: 1, reversedPoints: 0 };
const writes = [
  write(account, state),
  write(entries[0], entry(1)),
  write(entries[1], entry(2)),
  write(key, eventKey),
];

const versions = (loaded: readonly { version: number }[] | undefined) =>
  loaded?.map(({ version }) => version);

test("a part of it to plain reads, nothing to a snapshot, and a conflict to the next", async () => {
  const store = createMemoryStore();
  const { items } = store;
  const gate = createGate();
  const applied: Ref[] = [];
  store.beforeItem = async (op, ref) => {
    if (op !== "apply") return;
    applied.push(ref);
    if (ref.kind === "event") await gate.passed;
  };
  const committed = items.commit(writes, "one");
  let isAnswered = false;
  void committed.then(() => {
    isAnswered = true;
  });
  expect(versions(await items.read([account, ...entries, key]))).toEqual([1, 1, 1, 0]);
  expect(await items.readAtomically([account, key])).toBeUndefined();
  expect(versions(await items.readAtomically([account]))).toEqual([1]);
  // Entries that share an item are applied with the first of them.
  expect(applied).toEqual([account, entries[0], key]);
  expect(await items.commit([write(key, eventKey)], "two")).toEqual({ kind: "conflict" });
  expect(await items.commit([write(account, state), write(key, eventKey)], "three")).toMatchObject({
    kind: "failed",
    found: new Map([[account, { value: state, version: 1 }]]),
  });
  expect(await items.commit(writes, "one")).toEqual({ kind: "unknown" });
  expect(isAnswered).toBe(false);
  gate.open();
  expect(await committed).toEqual({ kind: "committed" });
  expect(versions(await items.readAtomically([account, key]))).toEqual([1, 1]);
  expect(await items.commit(writes, "one")).toEqual({ kind: "committed" });
});

test("one whose answer is lost is still applied", async () => {
  const store = createMemoryStore();
  const { items } = store;
  const gate = createGate();
  store.beforeItem = () => gate.passed;
  store.arriving = () => "lost after";
  expect(await items.commit(writes, "one")).toEqual({ kind: "unknown" });
  store.arriving = undefined;
  expect(await items.commit(writes, "one")).toEqual({ kind: "unknown" });
  gate.open();
  expect(versions(await items.read([account, key]))).toEqual([1, 1]);
  expect(await items.commit(writes, "one")).toEqual({ kind: "committed" });
});
