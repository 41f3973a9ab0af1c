/** Tests verification on the store in memory: its reports, its deadline and its cursors. */
import { describe, expect, test } from "vitest";
import type { Deps, Reader } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { accountRef, entryRef, eventRef } from "../../../src/points/ports/records.ts";
import type { Account } from "../../../src/points/rules/account.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { verification } from "../../../src/points/use-cases/jobs/verification.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import {
  account,
  createAccountFixture,
  differences,
  grant,
  programId,
  use,
  userId,
} from "../../support/fixtures/account-fixture.ts";
import { jobOf, makeStep, makeSteps } from "../../support/fixtures/jobs.ts";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const name = { programId, userId };

/** Two stores with the same grants: the second one lags until a test applies the next grant. */
async function laggingStore() {
  const ahead = createAccountFixture();
  const behind = createAccountFixture();
  for (const { deps } of [ahead, behind]) await grant(deps, "first", 100);
  let last = 1;
  const lock = { isHeld: false };
  // A transaction locks its items until all are applied; atomic reads of them are rejected.
  behind.store.arriving = ({ refs }) =>
    refs.length > 1 && lock.isHeld ? ("conflict" as const) : undefined;
  return {
    deps: behind.deps,
    store: behind.store,
    lock,
    next,
    /** Applies the next grant to the second store item by item. */
    async applySlowly(first: "account" | "entry", lagMs: number): Promise<void> {
      const items = await next();
      lock.isHeld = true;
      items[first]();
      await sleep(lagMs);
      items[first === "account" ? "entry" : "account"]();
      lock.isHeld = false;
    },
  };

  /** The items of the next grant; each call applies one to the second store. */
  async function next() {
    last += 1;
    const ref = entryRef(programId, userId, last);
    await grant(ahead.deps, `g${last}`, 10);
    const [after, entry] = [await ahead.stored(), (await ahead.deps.reader.get(ref))?.value];
    return {
      account: () => behind.store.force(account, after),
      entry: () => behind.store.force(ref, entry),
    };
  }
}

describe("a healthy account is not reported", () => {
  test.each(["account", "entry"] as const)("when its %s is applied first", async (first) => {
    const { deps, applySlowly } = await laggingStore();
    const applied = applySlowly(first, 60);
    await sleep(10);
    expect(await differences(deps)).toEqual([]);
    await applied;
    expect(await differences(deps)).toEqual([]);
  });

  test("while another process writes it all the time, item by item", async () => {
    const { deps, store, next, lock } = await laggingStore();
    let applied = 0;
    let apply = await next();
    /** Applies the next item of a grant: of every second one, the account comes first. */
    async function applyNextItem(): Promise<void> {
      const isFirst = !lock.isHeld;
      const isAccount = isFirst === (applied % 2 === 0);
      lock.isHeld = isFirst;
      if (isAccount) apply.account();
      else apply.entry();
      if (isFirst) return;
      applied += 1;
      apply = await next();
    }
    // The other process applies an item before every second, third or fourth read, by turns.
    const gaps = [2, 3, 4];
    let left = 1;
    const write = async () => {
      left -= 1;
      if (left > 0) return;
      left = gaps[applied % gaps.length] as number;
      await applyNextItem();
    };
    const isRejected = store.arriving;
    store.arriving = async (request) => {
      await write();
      return isRejected?.(request);
    };
    const reader: Reader = {
      ...deps.reader,
      async storedEntries(...args) {
        await write();
        return deps.reader.storedEntries(...args);
      },
      async get(ref) {
        await write();
        return deps.reader.get(ref);
      },
    };
    for (let i = 0; i < 8; i++) expect(await differences({ ...deps, reader })).toEqual([]);
    expect(applied).toBeGreaterThanOrEqual(4);
  });

  test("when the next transaction begins during the second read", async () => {
    const { deps, store, next } = await laggingStore();
    const [first, second] = [await next(), await next()];
    let reads = 0;
    const reader: Reader = {
      ...deps.reader,
      async storedEntries(...args) {
        reads += 1;
        // The second read sees the entry of the next grant, but not yet its account.
        if (reads === 2) second.entry();
        return deps.reader.storedEntries(...args);
      },
    };
    let validations = 0;
    store.arriving = ({ refs }) => {
      if (refs.length < 2) return undefined;
      validations += 1;
      // The first read is validated during its transaction, then after it.
      if (validations === 1) return "conflict";
      if (validations === 2) first.entry();
      if (validations === 3) second.account();
      return undefined;
    };
    first.account();
    expect(await differences({ ...deps, reader })).toEqual([]);
    expect({ reads, validations }).toEqual({ reads: 3, validations: 3 });
  });

  test("and is not repaired", async () => {
    const { deps, store, applySlowly } = await laggingStore();
    const applied = applySlowly("account", 60);
    await sleep(10);
    expect(await verifyAccount(deps, name, true)).toMatchObject({
      repaired: false,
      restoredEntryNumbers: [],
    });
    await applied;
    expect((await deps.reader.get(account))?.version).toBe(2);
    expect(Object.keys(store.dump()).filter((key) => key.startsWith("entry"))).toHaveLength(2);
  });
});

test("an account that is wrong and written all the time is CONTENDED, not reported", async () => {
  const { deps, store, stored } = createAccountFixture();
  await grant(deps, "g", 10);
  const wrong = { ...((await stored()) as Account), frozen: true };
  store.force(account, wrong);
  const moving: Deps = {
    ...deps,
    reader: {
      ...deps.reader,
      async storedEntries(...args) {
        store.force(account, wrong);
        return deps.reader.storedEntries(...args);
      },
    },
  };
  await expect(verifyAccount(moving, name, false)).rejects.toMatchObject({ reason: "CONTENDED" });
});

/** A ledger of `count` grants of 1 point without the entries `missing`, in place of the store's. */
function longLedger(deps: Deps, count: number, missing: number, delayMs = 0) {
  const state = { pages: 0, reads: [] as number[] };
  const entryAt = (number: number): LedgerEntry => ({
    number,
    type: "ISSUED",
    event: { origin: "c", eventId: `e${number}` },
    createTime: Date.UTC(2026, 0, 15),
    effectiveTime: Date.UTC(2026, 0, 15),
    points: 1,
    changes: [{ month: 12 * 2026, points: 1 }],
    total: "issuedPoints",
    frozen: false,
    availablePoints: number,
    reason: "",
    caller: asService("test"),
  });
  const storedEntries: Reader["storedEntries"] = async (_, { size, cursor }) => {
    state.pages += 1;
    if (delayMs > 0) await sleep(delayMs);
    const from = Number(cursor ?? 0) + 1;
    const to = Math.min(from + size - 1, count);
    state.reads.push(from);
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    const items = numbers.filter((number) => number !== missing).map(entryAt);
    return to < count ? { items, cursor: String(to) } : { items };
  };
  return { state, deps: { ...deps, reader: { ...deps.reader, storedEntries } } as Deps };
}

/** The account of a ledger of `count` grants of 1 point. */
async function longAccount(count: number) {
  const fixture = createAccountFixture();
  await grant(fixture.deps, "e1", 1);
  const one = (await fixture.stored()) as Account;
  const slots = one.slots.map((points) => points * count);
  const totals = { ...one.totals, issuedPoints: count };
  fixture.store.force(account, { ...one, slots, totals, last: count });
  return fixture;
}

describe("a long ledger", () => {
  test("with a missing entry gives 100 differences and the number of the rest", async () => {
    const count = 50_000;
    const { deps } = longLedger((await longAccount(count)).deps, count, 2);
    const found = await verifyAccount(deps, name, false);
    expect(found.differences).toHaveLength(100);
    expect(found.differences.slice(0, 6)).toEqual([
      { field: "available_points", expected: String(count - 1), actual: String(count) },
      { field: "totals.issued_points", expected: String(count - 1), actual: String(count) },
      { field: "buckets[2026-01]", expected: String(count - 1), actual: String(count) },
      { field: "entries[3].number", expected: "2", actual: "3" },
      { field: "entries[3].available_points", expected: "2", actual: "3" },
      { field: "entries[4].available_points", expected: "3", actual: "4" },
    ]);
    // Three of the account, one number, and a balance for each of the entries from the third on.
    expect(found.unreportedDifferenceCount).toBe(3 + 1 + count - 2 - 100);
    expect(found.entryCount).toBe(count - 1);
  });

  test("is not read on after its caller's deadline", async () => {
    const count = 100_000;
    const { deps, state } = longLedger((await longAccount(count)).deps, count, 0, 5);
    const call = { deadline: performance.now() + 100 };
    await expect(verifyAccount(deps, name, false, call)).rejects.toMatchObject({
      reason: "DEADLINE",
    });
    const pages = state.pages;
    expect(pages).toBeLessThan(25);
    await sleep(50);
    expect(state.pages).toBe(pages);
  });
});

test("the scan for a missing entry ends at its caller's deadline", async () => {
  const { deps, store } = createAccountFixture();
  for (const id of ["e1", "e2", "e3"]) await grant(deps, id, 10);
  store.force(entryRef(programId, userId, 2), undefined);
  const before = store.dump();
  let pages = 0;
  const entryCopies: Reader["entryCopies"] = async () => {
    pages += 1;
    await sleep(10);
    return { items: [], cursor: "more" };
  };
  const endless = { ...deps, reader: { ...deps.reader, entryCopies } };
  const call = { deadline: performance.now() + 2_000 };
  const verifying = verifyAccount(endless, name, true, call);
  await expect(verifying).rejects.toMatchObject({ reason: "DEADLINE" });
  expect(pages).toBeGreaterThan(4);
  const atEnd = pages;
  await sleep(50);
  expect(pages).toBeLessThanOrEqual(atEnd + 4);
  expect(store.dump()).toEqual(before);
});

/** Verifies a segment in its smallest steps, each from the cursor of the last one. */
async function inSteps(deps: Deps, repair = false) {
  const { steps, sum } = await makeSteps(deps, verification, asked(repair));
  return { steps, ...sum };
}

const asked = (repair: boolean) => jobOf(verification, programId, { repair });

describe("the verification of many accounts", () => {
  test.each([0, 2])("continues inside a ledger (entry %i is missing)", async (missing) => {
    const count = 5_000;
    const fixture = await longAccount(count);
    const whole = longLedger(fixture.deps, count, missing);
    const { accounts, entries, wrong, reports } = await makeStep(
      whole.deps,
      verification,
      asked(false),
    );
    const cut = longLedger(fixture.deps, count, missing);
    const found = await inSteps(cut.deps);
    expect(found).toMatchObject({ accounts, entries, wrong, reports });
    expect(wrong).toBe(missing === 0 ? 0 : 1);
    expect(found.steps.length).toBeGreaterThanOrEqual(count / 500);
    expect(cut.state.reads).toEqual(whole.state.reads);
    for (const { cursor = "" } of found.steps) expect(cursor.length).toBeLessThan(20_000);
  });

  test("reports exactly what differs, whatever the damage", async () => {
    const { deps, store } = createAccountFixture();
    const userIds = ["healthy", "flag", "hole", "lost", "points", "ring", "time"];
    for (const each of userIds) {
      for (const id of ["e1", "e2"]) await grant(deps, id, 10, { userId: each });
      await use(deps, "e3", 5, { userId: each });
    }
    const at = (id: string) => accountRef(programId, id);
    const accountOf = async (id: string) => (await deps.reader.get(at(id)))?.value as Account;
    const entryOf = async (id: string, number: number) =>
      (await deps.reader.get(entryRef(programId, id, number)))?.value as LedgerEntry;
    store.force(at("flag"), { ...(await accountOf("flag")), frozen: true });
    store.force(entryRef(programId, "hole", 2), undefined);
    store.force(at("lost"), undefined);
    store.force(entryRef(programId, "points", 2), {
      ...(await entryOf("points", 2)),
      changes: [{ month: 12 * 2026, points: 11 }],
    });
    const ring = await accountOf("ring");
    store.force(at("ring"), { ...ring, slots: [...ring.slots, 0] });
    store.force(entryRef(programId, "time", 3), { ...(await entryOf("time", 3)), createTime: 1 });
    const { reports, wrong, accounts, failures } = await inSteps(deps);
    // The scan finds accounts by their records, so not the one whose record is lost.
    expect({ wrong, accounts, failures }).toEqual({ wrong: 5, accounts: 6, failures: [] });
    const lines = reports.map(({ userId, differences: found }) => [
      userId,
      found.map(({ field, expected, actual }) => `${field}: ${expected}, not ${actual}`),
    ]);
    expect(Object.fromEntries(lines)).toEqual({
      flag: ["frozen: false, not true"],
      hole: [
        "available_points: 5, not 15",
        "totals.issued_points: 10, not 20",
        "buckets[2026-01]: 5, not 15",
        "entries[3].number: 2, not 3",
        "entries[3].available_points: 5, not 15",
      ],
      points: [
        "available_points: 16, not 15",
        "buckets[2026-01]: 16, not 15",
        "entries[2].available_points: 21, not 20",
        "entries[3].available_points: 16, not 15",
      ],
      ring: ["lifetime: 12, not 13", "buckets[2026-01]: 15, not 0", "buckets[2025-11]: 0, not 15"],
      time: [`entries[3].create_time: ${Date.UTC(2026, 0, 15)}, not 1`],
    });
    expect((await verifyAccount(deps, { programId, userId: "lost" }, false)).differences).toEqual([
      { field: "last", expected: "3", actual: "0" },
    ]);
  });

  test("repairs what differs, names the refused ones, and changes nothing twice", async () => {
    const { deps, store } = createAccountFixture();
    for (const each of ["flag", "healthy", "hole", "lost entry", "ring"]) {
      for (const id of ["e1", "e2"]) await grant(deps, id, 10, { userId: each });
      await use(deps, "e3", 5, { userId: each });
    }
    const whole = store.dump();
    const accountOf = async (id: string) =>
      (await deps.reader.get(accountRef(programId, id)))?.value as Account;
    store.force(accountRef(programId, "flag"), { ...(await accountOf("flag")), frozen: true });
    const ring = await accountOf("ring");
    store.force(accountRef(programId, "ring"), { ...ring, slots: [...ring.slots, 0] });
    store.force(entryRef(programId, "lost entry", 2), undefined);
    store.force(entryRef(programId, "hole", 2), undefined);
    store.force(eventRef(programId, "hole", "c:e2"), undefined);
    const damaged = store.dump();

    // A step is lost after its work, as when its worker dies before the heartbeat.
    await inSteps(deps, true);
    const mended = store.dump();
    expect(await inSteps(deps, true)).toMatchObject({
      ...{ accounts: 4, wrong: 0, repaired: 0 },
      failures: [{ userId: "hole", reason: "LEDGER_DAMAGED" }],
    });
    expect(store.dump()).toEqual(mended);
    const values = (records: ReturnType<typeof store.dump>) =>
      Object.entries(records).map(([name, { value }]) => [name, value]);
    const isOfHole = ([name]: readonly unknown[]) => (name as string).includes("#hole");
    expect(values(mended).filter(isOfHole)).toEqual(values(damaged).filter(isOfHole));
    const others = (records: ReturnType<typeof store.dump>) =>
      Object.fromEntries(values(records).filter((each) => !isOfHole(each)));
    expect(others(mended)).toEqual(others(whole));
  });

  test("counts and reports what it has repaired", async () => {
    const { deps, store } = createAccountFixture();
    for (const each of ["a", "b"]) await grant(deps, "e", 10, { userId: each });
    const ref = accountRef(programId, "a");
    store.force(ref, { ...((await deps.reader.get(ref))?.value as Account), frozen: true });
    const told: unknown[] = [];
    const found = await makeStep(deps, verification, asked(true), {
      warn: (_, fields) => told.push(fields),
    });
    const differences = [{ field: "frozen", expected: "false", actual: "true" }];
    expect(found).toMatchObject({ accounts: 2, wrong: 1, repaired: 1, failed: 0 });
    expect(found.reports).toEqual([{ userId: "a", differences, unreported: 0 }]);
    expect(told).toEqual([{ differences, restoredEntryNumbers: [] }]);
  });

  test("names an account that cannot be verified and continues; an outage ends it", async () => {
    const { deps } = createAccountFixture();
    for (const each of ["a", "b", "c"]) await grant(deps, "e", 10, { userId: each });
    const damaged: Reader = {
      ...deps.reader,
      storedEntries: (name, page) =>
        name.userId === "b"
          ? Promise.reject(new TypeError("damaged"))
          : deps.reader.storedEntries(name, page),
    };
    expect(await inSteps({ ...deps, reader: damaged })).toMatchObject({
      accounts: 2,
      wrong: 0,
      failures: [{ userId: "b", reason: "INTERNAL" }],
    });
    const reader: Reader = {
      ...deps.reader,
      storedEntries: () => Promise.reject(new DomainError("STORE_UNAVAILABLE", "away")),
    };
    const verifying = makeStep({ ...deps, reader }, verification, asked(false));
    await expect(verifying).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  });
});
