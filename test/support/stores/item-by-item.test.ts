/** Tests what the store in memory returns while a transaction is applied item by item. */
import { expect, test } from "vitest";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { accountRef, entryRef, eventRef } from "../../../src/points/ports/records.ts";
import type { Account } from "../../../src/points/rules/account.ts";
import { type EventKey, type LedgerEntry, noTotals } from "../../../src/points/rules/ledger.ts";
import { createGate } from "../fixtures/account-fixture.ts";
import { pause } from "./item-by-item.ts";
import { createMemoryStore } from "./memory-store.ts";
import { write } from "./records.ts";

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
  total: "issuedPoints",
  frozen: false,
  availablePoints: number,
  reason: "",
  caller: asService("test"),
});
const state: Account = {
  programId: "p",
  userId: "u",
  month: 24_322,
  slots: [2, 0, 0],
  totals: { ...noTotals, issuedPoints: 2 },
  frozen: false,
  last: 2,
  time: 0,
};
const eventKey: EventKey = { hash: "1:x", entry: entry(1), availablePoints: 1, reversedPoints: 0 };
const writes = [
  write(account, state),
  write(entries[0], entry(1)),
  write(entries[1], entry(2)),
  write(key, eventKey),
];

const versions = (loaded: readonly { version: number }[] | undefined) =>
  loaded?.map(({ version }) => version);

test("plain reads see a part of it, atomic reads nothing, the next one conflicts", async () => {
  const memory = createMemoryStore();
  const { itemStore: store } = memory;
  const gate = createGate();
  const applied: Ref[] = [];
  memory.beforeItem = async (op, ref) => {
    if (op !== "apply") return;
    applied.push(ref);
    if (ref.kind === "event") await gate.passed;
  };
  const committed = store.commit(writes, "one");
  let isAnswered = false;
  void committed.then(() => {
    isAnswered = true;
  });
  await pause(1);
  expect(versions(await store.read([account, ...entries, key]))).toEqual([1, 1, 1, 0]);
  expect(await store.readAtomically([account, key])).toBeUndefined();
  expect(versions(await store.readAtomically([account]))).toEqual([1]);
  // Packed entries are applied together, with the first of them.
  expect(applied).toEqual([account, entries[0], key]);
  expect(await store.commit([write(key, eventKey)], "two")).toEqual({ kind: "conflict" });
  expect(await store.commit([write(account, state), write(key, eventKey)], "three")).toMatchObject({
    kind: "failed",
    found: new Map([[account, { value: state, version: 1 }]]),
  });
  expect(await store.commit(writes, "one")).toEqual({ kind: "unknown" });
  expect(isAnswered).toBe(false);
  gate.open();
  expect(await committed).toEqual({ kind: "committed" });
  expect(versions(await store.readAtomically([account, key]))).toEqual([1, 1]);
  expect(await store.commit(writes, "one")).toEqual({ kind: "committed" });
});

test("a transaction whose answer is lost is still applied", async () => {
  const memory = createMemoryStore();
  const { itemStore: store } = memory;
  const gate = createGate();
  memory.beforeItem = () => gate.passed;
  memory.arriving = () => "lost after";
  expect(await store.commit(writes, "one")).toEqual({ kind: "unknown" });
  memory.arriving = undefined;
  expect(await store.commit(writes, "one")).toEqual({ kind: "unknown" });
  gate.open();
  expect(versions(await store.read([account, key]))).toEqual([1, 1]);
  expect(await store.commit(writes, "one")).toEqual({ kind: "committed" });
});
