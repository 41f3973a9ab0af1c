/** Tests balances of the past on both stores: exact, whatever is written, and cheap. */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { readUnits } from "../../../bench/capacity.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { itemSize, total } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import { formatMonth } from "../../../src/platform/words/month.ts";
import { accountRef, entryRef } from "../../../src/points/ports/records.ts";
import type { Account } from "../../../src/points/rules/account.ts";
import type { LedgerEntry, Snapshot } from "../../../src/points/rules/ledger.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { getPastBalance } from "../../../src/points/use-cases/past-balance.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import {
  createAccountFixture,
  grant,
  programId,
  use,
  userId,
} from "../../support/fixtures/account-fixture.ts";
import { createLedger, day, program } from "../../support/fixtures/ledger-fixture.ts";
import { pastHistories, playPast } from "../../support/models/past-histories.ts";
import { bothStores, type OpenStore } from "../../support/stores/both-stores.ts";
import { delayedBy } from "../../support/stores/item-by-item.ts";
import { fill, write } from "../../support/stores/records.ts";

const { stores, client } = bothStores();
const openDynamo = stores[1][1];

const name = { programId, userId };

/** The dependencies of a read in a store of entries, with the clock far ahead. */
function readerOf({ store: items, reader }: OpenStore, of: Program) {
  const clock = { now: async () => ({ calendar: day("2099-01-01"), wall: 0 }) };
  const programs = { get: async () => of, current: () => of, refresh: async () => undefined };
  const engine = new CommitEngine({ store: items, clock });
  return { reader, clock, engine, programs: programs as never };
}

/** Stores an account and its ledger; entries of one transaction are packed. */
async function store(
  { store: items }: OpenStore,
  p: string,
  account: Account,
  entries: readonly LedgerEntry[],
  packed: boolean,
): Promise<void> {
  const writes = entries.map((entry) => write(entryRef(p, userId, entry.number), entry));
  const isEven = (i: number) => i % 2 === 0;
  // Entries whose numbers are apart are not packed.
  const apart = [...writes.filter((_, i) => isEven(i)), ...writes.filter((_, i) => !isEven(i))];
  await fill(items, [...(packed ? writes : apart), write(accountRef(p, userId), account)]);
}

describe.each(stores)("on the store %s", (_, open) => {
  test("a balance is what was shown at its instant", async () => {
    const opened = open();
    const property = fc.asyncProperty(pastHistories, fc.boolean(), async (history, packed) => {
      const { ledger, live, program: of } = playPast(history);
      if (!ledger.account) return;
      const p = randomUUID().slice(0, 8);
      await store(opened, p, ledger.account, ledger.entries, packed);
      const deps = readerOf(opened, of);
      for (const [asOf, { lots, holds: _, ...expected }] of live) {
        const { account, availablePoints, heldPoints, buckets } = await getPastBalance(
          deps,
          { programId: p, userId },
          asOf,
        );
        const { totals, frozen, last } = account;
        const shown = { balance: availablePoints, held: heldPoints, totals, frozen, last };
        expect(shown).toEqual(expected);
        const months = buckets.map((bucket) => ({ ...bucket, month: formatMonth(bucket.month) }));
        expect(months).toEqual(lots);
      }
    });
    await fc.assert(property, { numRuns: 4 });
  });

  test("entries without snapshots cost more reads and are as exact", async () => {
    const opened = open();
    const { account, entries } = manyGrants(150);
    const p = randomUUID().slice(0, 8);
    const old = entries.map(({ snapshot, ...entry }) =>
      entry.number > 100 && snapshot ? { ...entry, snapshot } : entry,
    );
    await store(opened, p, account, old, true);
    for (const number of [1, 32, 40, 99, 127, 128, 129, 150]) {
      const { createTime } = entries[number - 1] as LedgerEntry;
      const deps = readerOf(opened, program(12));
      const found = await getPastBalance(deps, { programId: p, userId }, createTime);
      expect(found.availablePoints).toBe(number);
    }
  });

  test("a packed entry that a read does not show yet is not taken as lost", async () => {
    const opened = open();
    const { account, entries } = manyGrants(150);
    const p = randomUUID().slice(0, 8);
    await store(opened, p, account, entries, true);
    const hidden = new Set<string>();
    const deps = readerOf(opened, program(12));
    const get: typeof deps.reader.get = async (ref) => {
      const isFirst = ref.kind === "entry" && !hidden.has(ref.id);
      if (isFirst) hidden.add(ref.id);
      return isFirst ? undefined : deps.reader.get(ref);
    };
    const { createTime } = entries[19] as LedgerEntry;
    const late = { ...deps, reader: { ...deps.reader, get } };
    const found = await getPastBalance(late, { programId: p, userId }, createTime);
    expect([found.availablePoints, hidden.size]).toEqual([20, 2]);
  });
});

/** So many grants of a point, a minute apart. */
function manyGrants(count: number) {
  const ledger = createLedger(program(12));
  for (let i = 0; i < count; i++) ledger.grant(day("2026-01-10") + i * 60_000, `event-${i}`, 1);
  return ledger;
}

describe("read units", () => {
  /** The read units and requests of a balance in the middle of a ledger. */
  async function costOf(count: number, packed: boolean, atEnd = false) {
    const opened = openDynamo();
    const p = randomUUID().slice(0, 8);
    const { account, entries } = manyGrants(count);
    await store(opened, p, account, entries, packed);
    const { createTime } = entries.at(atEnd ? -1 : count / 2 + 7) as LedgerEntry;
    const spy = vi.spyOn(client(), "send");
    await getPastBalance(readerOf(opened, program(12)), { programId: p, userId }, createTime);
    const answers = (await Promise.all(spy.mock.results.map(({ value }) => value))) as {
      readonly Item?: Item;
      readonly Items?: Item[];
    }[];
    spy.mockRestore();
    const sizes = answers.map(({ Item, Items = [] }) => total(Item ? [Item] : Items, itemSize));
    return sizes.map((size) => readUnits(size, "strong")).reduce((sum, units) => sum + units, 0);
  }

  test("grow with the logarithm of the number of entries", async () => {
    for (const packed of [true, false]) {
      const [few, many] = [await costOf(256, packed), await costOf(2_048, packed)];
      expect(few).toBeLessThanOrEqual(1 + 3 + 4);
      expect(many - few).toBeLessThanOrEqual(3 + 1);
    }
  });

  test("of an instant after the last entry are those of the account", async () => {
    expect(await costOf(64, true, true)).toBe(1);
  });
});

test("a balance is the same while writes go on, whose items are applied one by one", async () => {
  const { deps, store: memory, clock } = createAccountFixture(12);
  const start = clock.time;
  for (let i = 1; i <= 40; i++) {
    clock.time = start + i;
    await grant(deps, `g${i}`, 1);
  }
  memory.beforeItem = delayedBy([0, 3, 1, 7, 2]);
  const state = { isWriting: true };
  const writes = (async () => {
    for (let i = 41; i <= 140; i++) {
      clock.time = start + i;
      await Promise.all([grant(deps, `g${i}`, 1), i % 7 === 0 && use(deps, `u${i}`, 1)]);
    }
  })().finally(() => {
    state.isWriting = false;
  });
  /** A point less for each use from the grant 41 on. */
  const pointsAt = (point: number) => point - Math.max(Math.floor(point / 7) - 5, 0);
  let reads = 0;
  while (state.isWriting) {
    // What was recorded at the time before the clock's is final, and the next entries are applied.
    for (const point of [0, 1, 31, 32, 39, 40, clock.time - start - 1]) {
      const found = await getPastBalance(deps, name, start + point);
      expect(found.availablePoints, `${point}`).toBe(pointsAt(point));
      reads += 1;
    }
    await new Promise(setImmediate);
  }
  await writes;
  expect(reads).toBeGreaterThan(50);
  expect((await getPastBalance(deps, name, clock.time)).availablePoints).toBe(
    (await getBalance(deps, name)).availablePoints,
  );
});

/** An account with 70 grants of a point, of which the number `i` was made at `start + i`. */
async function withGrants() {
  const fixture = createAccountFixture(12);
  const { deps, clock } = fixture;
  const start = clock.time;
  for (let i = 1; i <= 70; i++) {
    clock.time = start + i;
    await grant(deps, `g${i}`, 1);
  }
  return { ...fixture, start };
}

const damaged = { reason: "LEDGER_DAMAGED" };

test.each([1, 2, 31, 32, 33, 63, 64, 65, 70])("a lost entry %i is noticed", async (lost) => {
  const { store, process, start } = await withGrants();
  store.force(entryRef(programId, userId, lost), undefined);
  const deps = process();
  // After the last entry, the account has the balance.
  for (const asOf of [lost - 1, lost].filter((number) => number > 0 && number < 70)) {
    await expect(getPastBalance(deps, name, start + asOf)).rejects.toMatchObject(damaged);
  }
  expect((await getPastBalance(deps, name, start + 70)).availablePoints).toBe(70);
});

/** An account with grants, the snapshot of whose entry 32 is wrong. */
async function withWrongSnapshot(spoil: (snapshot: Snapshot) => Snapshot) {
  const account = await withGrants();
  const ref = entryRef(programId, userId, 32);
  const entry = (await account.deps.reader.get(ref))?.value as LedgerEntry;
  account.store.force(ref, { ...entry, snapshot: spoil(entry.snapshot as Snapshot) });
  return account;
}

const withoutMonths = ({ totals }: Snapshot): Snapshot => ({ months: [], totals });

test("a repair removes a wrong snapshot, and the past is right", async () => {
  const { deps, start } = await withWrongSnapshot(({ months, totals }) => ({
    months,
    totals: { ...totals, usedPoints: 1 },
  }));
  const read = async () => (await getPastBalance(deps, name, start + 40)).account.totals.usedPoints;
  expect(await read()).toBe(1);
  const verified = await verifyAccount(deps, name, true);
  expect(verified.differences.map(({ field }) => field)).toEqual(["entries[32].snapshot"]);
  expect(verified.repaired).toBe(true);
  expect(await read()).toBe(0);
  expect(await verifyAccount(deps, name, true)).toMatchObject({ differences: [], repaired: false });
});

test("a snapshot that its entry contradicts is not believed", async () => {
  const { deps, start } = await withWrongSnapshot(withoutMonths);
  await expect(getPastBalance(deps, name, start + 40)).rejects.toMatchObject(damaged);
});

test("a lost entry comes back beside a wrong snapshot, which is removed", async () => {
  const { deps, store, process } = await withWrongSnapshot(withoutMonths);
  store.force(entryRef(programId, userId, 50), undefined);
  const verified = await verifyAccount(process(), name, true);
  expect(verified).toMatchObject({ repaired: true, restoredEntryNumbers: [50] });
  expect(await verifyAccount(deps, name, false)).toMatchObject({ differences: [] });
});
