/** Tests what a comparison makes of accounts and ledgers whose tables are of two moments. */
import { expect, test } from "vitest";
import type { Deps } from "../../src/hub/deps.ts";
import { entryRef, eventRef } from "../../src/points/ports/records.ts";
import {
  balance,
  createAccountFixture,
  differences,
  grant,
  programId,
  revoke,
  use,
  userId,
} from "../support/fixtures/account-fixture.ts";
import { compareAll, recordHistory, recordsAt, restore } from "../support/models/restore-drill.ts";
import type { MemoryDeps } from "../support/stores/memory-store.ts";

const linesOf = async (memory: MemoryDeps, repair: boolean) =>
  (await compareAll(memory, repair)).map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`);

/** The calls of a workload, each of which happens once however often it is sent. */
const calls: readonly ((deps: Deps) => Promise<unknown>)[] = [
  (deps) => grant(deps, "a", 100),
  (deps) => use(deps, "b", 30),
  (deps) => grant(deps, "c", 20),
  (deps) => revoke(deps, "d", "c"),
  (deps) => grant(deps, "e", 7),
];

test("whatever the moments of accounts and points, each call is made once", async () => {
  const original = createAccountFixture();
  const history = recordHistory(original);
  for (const call of calls) await call(original.deps);
  const wanted = await balance(original.deps);
  const lines = new Set<string>();
  for (let accounts = 0; accounts < history.snapshots.length; accounts++) {
    for (let points = 0; points < history.snapshots.length; points++) {
      const moments = { accounts, points, reservations: 0, bulk: 0, reactions: 0 };
      const records = recordsAt(
        history,
        { ...moments, notifications: 0, acts: 0, events: 0 },
        () => false,
      );
      const restored = await restore(history, records, original.clock.time);
      const found = await linesOf(restored, false);
      expect(found.length > 0, `${accounts}, ${points}`).toBe(accounts !== points);
      for (const line of await linesOf(restored, true)) lines.add(line);
      expect(await linesOf(restored, false)).toEqual([]);
      for (const call of calls) await call(restored.deps);
      expect(await balance(restored.deps)).toEqual(wanted);
      expect(await differences(restored.deps)).toEqual([]);
    }
  }
  expect([...lines]).toEqual([`ACCOUNT_DIFFERS ${programId}/${userId} MENDED`]);
});

const aheadOfPoints = async (length: number) => {
  const original = createAccountFixture();
  const history = recordHistory(original);
  for (let i = 0; i < length; i++) await grant(original.deps, `g-${i}`, 1);
  const accounts = history.snapshots.length - 1;
  const moments = {
    accounts,
    points: 2,
    reservations: 0,
    bulk: 0,
    reactions: 0,
    notifications: 0,
    acts: 0,
    events: 0,
  };
  const records = recordsAt(history, moments, () => false);
  return restore(history, records, original.clock.time);
};

test("a mended line says what became of the account, not only what differed", async () => {
  const { deps, store, ...fixture } = createAccountFixture();
  for (const [event, points] of [7, 5].entries()) await grant(deps, `g-${event}`, points);
  store.force(entryRef("p", "u", 2), undefined);
  const [restored] = await compareAll({ ...fixture, store, deps: fixture.process() }, true);
  expect(restored?.detail).toContain("available_points is 12 by the account, 7 by the ledger");
  expect(restored?.detail).toMatch(
    /; 1 entry restored in the ledger, the account stays as it was$/,
  );
  expect(await balance(fixture.process())).toBe(12);
  const [set] = await compareAll(await aheadOfPoints(4), true);
  expect(set?.detail).toMatch(/; the account was set to its ledger$/);
});

test("an account is set back, however far it is ahead of its ledger", async () => {
  const restored = await aheadOfPoints(150);
  expect(await linesOf(restored, true)).toEqual(["ACCOUNT_DIFFERS p/u MENDED"]);
  expect(await balance(restored.deps)).toBe(2);
  expect(await linesOf(restored, false)).toEqual([]);
});

test("entries that all have copies are restored, and some of them are not", async () => {
  for (const kept of [2, 1]) {
    const { deps, store, ...fixture } = createAccountFixture();
    for (let i = 0; i < 4; i++) await grant(deps, `g-${i}`, 1);
    for (const number of [3, 4]) store.force(entryRef("p", "u", number), undefined);
    if (kept === 1) store.force(eventRef("p", "u", "c:g-3"), undefined);
    const again = { ...fixture, store, deps: fixture.process() };
    const lines = await linesOf(again, true);
    expect(await balance(again.deps)).toBe(kept === 2 ? 4 : 2);
    const lost = kept === 1 ? ["LEDGER_ENTRY_LOST p/u c:g-2 MENDED"] : [];
    expect(lines).toEqual(["ACCOUNT_DIFFERS p/u MENDED", ...lost]);
    expect(await linesOf(again, false)).toEqual([]);
  }
});
