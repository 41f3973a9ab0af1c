/** Tests both stores alike: what the engine and the use cases of points depend on. */
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import type { Reader } from "../../src/app/ports/deps.ts";
import type { PageRequest } from "../../src/app/ports/pages.ts";
import { shardCount } from "../../src/app/ports/points.ts";
import {
  accountRef,
  entryRef,
  eventRef,
  type Kind,
  pendingStartRef,
  programRef,
  type Records,
  type Ref,
  reservationRef,
  testClockRef,
} from "../../src/app/ports/records.ts";
import type { Account } from "../../src/domain/account.ts";
import { asService, type Caller } from "../../src/domain/caller.ts";
import { DomainError } from "../../src/domain/errors.ts";
import { type EventKey, type LedgerEntry, noTotals } from "../../src/domain/ledger.ts";
import { maxBalance, maxPoints } from "../../src/domain/points.ts";
import type { Program } from "../../src/domain/program.ts";
import type { Reservation } from "../../src/domain/reservation.ts";
import { shardOf } from "../../src/store/dynamodb/codecs/codec.ts";
import { toItem } from "../../src/store/dynamodb/codecs/index.ts";
import { itemSize } from "../../src/store/dynamodb/sdk/item-size.ts";
import type { ItemStore } from "../../src/store/engine/item-store.ts";
import { patience } from "../support/fixtures/waiting.ts";
import {
  bothStores,
  fill,
  pages,
  rejection,
  remove,
  write,
} from "../support/stores/both-stores.ts";

const { stores, transports } = bothStores();

/** A new program id, so that tests with the same tables do not share records. */
const newProgram = () => `p-${randomUUID().slice(0, 23)}`;

const account = (programId: string, userId: string, more: Partial<Account> = {}): Account => ({
  programId,
  userId,
  month: 24_322,
  slots: [0, 10, 0],
  totals: { ...noTotals, issuedPoints: 10 },
  frozen: false,
  last: 1,
  time: 1_790_000_000_000,
  ...more,
});

const entry = (number: number, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  number,
  type: "ISSUED",
  event: { origin: "c", eventId: `e${number}` },
  createTime: 1_790_000_000_000,
  effectiveTime: 1_790_000_000_000,
  points: 10,
  changes: [{ month: 24_322, points: 10 }],
  total: "issuedPoints",
  frozen: false,
  availablePoints: 10,
  reason: "",
  caller: asService("shop"),
  expireTime: 1_793_000_000_000,
  ...more,
});

const eventKey = (number: number): EventKey => ({
  hash: "1:x",
  entry: entry(number),
  availablePoints: 10,
  reversedPoints: 0,
});

const reservation = (
  programId: string,
  id: string,
  more: Partial<Reservation> = {},
): Reservation => ({
  programId,
  reservationId: id,
  userId: "u",
  points: 10,
  reason: "",
  creator: asService("shop"),
  hash: "1:x",
  executeTime: 1_790_000_000_000,
  state: "PENDING",
  createTime: 1_780_000_000_000,
  updateTime: 1_780_000_000_000,
  ...more,
});

describe.each(transports)("%s: transactions", (kind, open) => {
  const setUp = () => {
    const p = newProgram();
    const a = accountRef(p, "a");
    const b = accountRef(p, "b");
    return { ...open(), p, a, b };
  };

  test("a write of a new record, and one with a version", async () => {
    const { store, p, a } = setUp();
    const first = account(p, "a");
    const second = account(p, "a", { last: 2 });
    expect(await store.read([a])).toEqual([{ value: undefined, version: 0 }]);
    expect(await store.commit([write(a, first)], randomUUID())).toEqual({ kind: "committed" });
    expect(await store.read([a])).toEqual([{ value: first, version: 1 }]);

    const again = await store.commit([write(a, second)], randomUUID());
    expect(again).toEqual({ kind: "failed", found: new Map([[a, { value: first, version: 1 }]]) });
    const ahead = await store.commit([write(a, second, 2)], randomUUID());
    expect(ahead).toEqual({ kind: "failed", found: new Map([[a, { value: first, version: 1 }]]) });

    expect(await store.commit([write(a, second, 1)], randomUUID())).toEqual({ kind: "committed" });
    expect(await store.read([a])).toEqual([{ value: second, version: 2 }]);
  });

  test("an atomic read finds the same as a plain one, up to the limit", async () => {
    const { store, p, a, b } = setUp();
    await store.commit([write(a, account(p, "a"))], randomUUID());
    const [found, none] = [
      { value: account(p, "a"), version: 1 },
      { value: undefined, version: 0 },
    ];
    expect(await store.readAtomically([b, a])).toEqual([none, found]);
    const others = Array.from({ length: 100 }, (_, i) => eventRef(p, "a", `c:${i}`));
    expect(await store.readAtomically(others)).toEqual(Array(100).fill(none));
    for (const refs of [
      [a, a],
      [a, ...others],
    ]) {
      expect(await rejection(store.readAtomically(refs))).toBeInstanceOf(Error);
    }
  });

  test("a failed condition on an absent record finds nothing", async () => {
    const { store, p, a } = setUp();
    const result = await store.commit([write(a, account(p, "a"), 3)], randomUUID());
    const nothing = { value: undefined, version: 0 };
    expect(result).toEqual({ kind: "failed", found: new Map([[a, nothing]]) });
  });

  test("all or nothing, and every failed condition is returned", async () => {
    const { store, p, a, b } = setUp();
    const other = reservationRef(p, "r");
    await fill(store, [write(a, account(p, "a")), write(other, reservation(p, "r"))]);
    const result = await store.commit(
      [
        write(b, account(p, "b")),
        write(a, account(p, "a", { last: 7 })),
        write(entryRef(p, "b", 1), entry(1)),
        write(other, reservation(p, "r", { points: 3 })),
      ],
      randomUUID(),
    );
    if (result.kind !== "failed") throw new Error(result.kind);
    expect([...result.found.keys()]).toEqual([a, other]);
    expect(result.found.get(other)).toEqual({ value: reservation(p, "r"), version: 1 });
    const loaded = await store.read([b, entryRef(p, "b", 1), a]);
    expect(loaded.map(({ version }) => version)).toEqual([0, 0, 1]);
  });

  test("a token's transaction happens once; a cancelled one is checked again", async () => {
    const { store, p, a, b } = setUp();
    const [token, other] = [randomUUID(), randomUUID()];
    const writes = [write(a, account(p, "a"))];
    expect(await store.commit(writes, token)).toEqual({ kind: "committed" });
    expect(await store.commit(writes, token)).toEqual({ kind: "committed" });
    expect((await store.read([a]))[0]?.version).toBe(1);
    const different = [write(a, account(p, "a", { last: 9 }))];
    expect(await rejection(store.commit(different, token))).toBeInstanceOf(Error);

    const early = [write(b, account(p, "b", { last: 2 }), 1)];
    expect((await store.commit(early, other)).kind).toBe("failed");
    await fill(store, [write(b, account(p, "b"))]);
    expect(await store.commit(early, other)).toEqual({ kind: "committed" });
    expect(await store.commit(early, other)).toEqual({ kind: "committed" });
    expect((await store.read([b]))[0]?.version).toBe(2);
  });

  test("a reservation is created once under its token, and found by other ones", async () => {
    const { store, p } = setUp();
    const [ref, token] = [reservationRef(p, "r"), randomUUID()];
    const [first, second] = [reservation(p, "r"), reservation(p, "r", { state: "CANCELLED" })];
    const create = () => store.commit([write(ref, first)], token);
    expect(await create()).toEqual({ kind: "committed" });
    expect(await create()).toEqual({ kind: "committed" });
    expect(await store.read([ref])).toEqual([{ value: first, version: 1 }]);
    // The same item under another token is of another call.
    const other = await store.commit([write(ref, first)], randomUUID());
    expect(other).toEqual({
      kind: "failed",
      found: new Map([[ref, { value: first, version: 1 }]]),
    });

    await fill(store, [write(ref, second, 1)]);
    const late = await create();
    expect(late).toEqual({
      kind: "failed",
      found: new Map([[ref, { value: second, version: 2 }]]),
    });
    expect(await store.read([ref])).toEqual([{ value: second, version: 2 }]);
  });

  test("a mark is deleted with its version only, and nobody deletes a later one", async () => {
    const { store, reader, p } = setUp();
    const ref = pendingStartRef({ programId: p, reservationId: "r" });
    const mark = (time: number) => ({ programId: p, reservationId: "r", time });
    const marked = (time: number) => ({ ...write(ref, mark(time)), next: time });
    const token = randomUUID();
    await fill(store, [marked(5)]);
    const listed = await pages((page) => reader.pendingStarts(p, shardOf("r"), page), 4);
    expect(listed.flat()).toContainEqual(mark(5));
    expect(await store.commit([remove(ref, 5)], token)).toEqual({ kind: "committed" });
    const absent = { value: undefined, version: 0 };
    const again = await store.commit([remove(ref, 5)], token);
    expect(again).toEqual({ kind: "failed", found: new Map([[ref, absent]]) });
    await fill(store, [marked(6)]);
    const late = await store.commit([remove(ref, 5)], token);
    const found = new Map([[ref, { value: mark(6), version: 6 }]]);
    expect(late).toEqual({ kind: "failed", found });
  });

  test("a reservation and a hold of one id have marks of their own", async () => {
    const { store, reader, p } = setUp();
    const marks = [
      { programId: p, reservationId: "r", time: 5 },
      { programId: p, holdId: "r", time: 6 },
    ];
    await fill(
      store,
      marks.map((mark) => write(pendingStartRef(mark), mark)),
    );
    const listed = await pages((page) => reader.pendingStarts(p, shardOf("r"), page), 4);
    expect(listed.flat()).toHaveLength(2);
    expect(listed.flat()).toEqual(expect.arrayContaining(marks));
  });

  test("100 items pass, 101 do not, and no item twice", async () => {
    const { store, p, a } = setUp();
    const keys = Array.from({ length: 101 }, (_, i) =>
      write(eventRef(p, "a", `c:e${i}`), eventKey(i)),
    );
    const tooMany = await rejection(store.commit(keys, randomUUID()));
    expect(tooMany).toMatchObject({ name: "ValidationException" });
    expect(await store.commit(keys.slice(1), randomUUID())).toEqual({ kind: "committed" });
    const twice = [write(a, account(p, "a")), write(a, account(p, "a", { last: 2 }))];
    // DynamoDB refuses this with a ValidationException; DynamoDB Local fails the second condition.
    const twiceSent = store.commit(twice, randomUUID());
    if (kind === "memory") await expect(twiceSent).rejects.toThrow("twice");
    else expect((await twiceSent.catch(() => ({ kind: "refused" }))).kind).not.toBe("committed");
    expect((await store.read([a]))[0]?.version).toBe(0);
    expect(await rejection(store.commit([], randomUUID()))).toBeInstanceOf(Error);
    expect(store.maxItems).toBe(100);
  });

  test("4 MB do not pass", async () => {
    const { store, p } = setUp();
    const reason = "x".repeat(45_000);
    const entries = Array.from({ length: 100 }, (_, i) =>
      write(entryRef(p, "a", i), entry(i, { reason })),
    );
    expect(await rejection(store.commit(entries, randomUUID()))).toBeInstanceOf(Error);
  });

  test("of many writes with one version, one is committed", async () => {
    const { store, p, a } = setUp();
    await fill(store, [write(a, account(p, "a"))]);
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        store.commit([write(a, account(p, "a", { last: i + 2 }), 1)], randomUUID()),
      ),
    );
    const committed = results.flatMap(({ kind }, i) => (kind === "committed" ? [i] : []));
    expect(committed).toHaveLength(1);
    const [loaded] = await store.read([a]);
    expect(loaded).toEqual({
      value: account(p, "a", { last: (committed[0] ?? 0) + 2 }),
      version: 2,
    });
  });

  test("reads return more than 100 records in the requested order, with absent ones", async () => {
    const { store, p } = setUp();
    const odd = Array.from({ length: 125 }, (_, i) => 2 * i + 1);
    await fill(
      store,
      odd.map((number) => write(eventRef(p, "a", `c:e${number}`), eventKey(number))),
    );
    await fill(store, [write(reservationRef(p, "r"), reservation(p, "r"))]);
    const refs = Array.from({ length: 250 }, (_, i) => eventRef(p, "a", `c:e${250 - i}`));
    const loaded = await store.read([...refs, reservationRef(p, "r"), reservationRef(p, "s")]);
    expect(loaded.slice(250).map(({ version }) => version)).toEqual([1, 0]);
    expect(loaded.slice(0, 250)).toEqual(
      refs.map((_, i) =>
        i % 2 === 1 ? { value: eventKey(250 - i), version: 1 } : { value: undefined, version: 0 },
      ),
    );
    expect(await store.read([])).toEqual([]);
    const twice = [accountRef(p, "a"), accountRef(p, "a")];
    expect(await rejection(store.read(twice))).toMatchObject({ name: "ValidationException" });
  });

  test("what is read or written is a copy", async () => {
    const { store, p, a } = setUp();
    const slots = [1, 2, 3];
    await fill(store, [write(a, account(p, "a", { slots }))]);
    slots[0] = 100;
    const [first] = await store.read([a]);
    const { slots: loaded } = (first as { value: unknown }).value as { slots: number[] };
    // Does nothing where what is read is frozen.
    Reflect.set(loaded, 1, 100);
    expect((await store.read([a]))[0]?.value).toMatchObject({ slots: [1, 2, 3] });
  });
});

describe.each(stores)("%s: records", (_, open) => {
  const id = (length: number) => `${"!~:/@".repeat(26)}`.slice(0, length);
  const extremes = (p: string): [string, Ref, Records[Kind]][] => {
    const userId = id(64);
    const event = { origin: "c", eventId: id(128) } as const;
    const full = account(p, userId, {
      slots: Array.from({ length: 36 }, (_, i) => maxBalance - i),
      totals: {
        issuedPoints: maxBalance,
        usedPoints: maxBalance,
        expiredPoints: 2 * maxBalance,
        refundedPoints: maxBalance,
        revokedPoints: 1,
        heldPoints: maxBalance,
        capturedPoints: 1,
        releasedPoints: 2,
      },
      frozen: true,
      last: 999_999_999_999,
      oldest: 0,
    });
    const used = entry(1, {
      type: "USED",
      event,
      effectiveTime: 0,
      points: maxPoints,
      changes: [
        { month: 24_300, points: -1 },
        { month: 24_335, points: 1 - maxPoints },
      ],
      total: "usedPoints",
      frozen: true,
      reason: "理由".repeat(21),
      caller: { service: id(64), subject: "s".repeat(128) },
      relatedEvent: { origin: "b", eventId: id(128) },
    });
    const { total: _, expireTime: _x, ...plain } = entry(2);
    const frozen: LedgerEntry = { ...plain, type: "FROZEN", points: 0, changes: [], frozen: true };
    const key: EventKey = {
      hash: "1:h",
      entry: used,
      availablePoints: maxBalance,
      reversedPoints: maxPoints,
    };
    const program: Program = {
      programId: p,
      timeZone: "America/Argentina/ComodRivadavia",
      lifetimes: [
        { lifetimeMonths: 1, effectiveTime: 0 },
        { lifetimeMonths: 36, effectiveTime: 1_790_000_000_001 },
      ],
      createTime: 0,
      reservationPause: {
        time: 1_790_000_000_002,
        caller: { service: "desk", subject: "yuki" },
        reason: "wrong points",
      },
      notices: { expiryDays: 27, reservedGrants: true },
      monthEnd: { month: 24_322, failedCount: 3 },
    };
    const quiet: Program = {
      programId: "quiet",
      timeZone: "UTC",
      lifetimes: [{ lifetimeMonths: 1, effectiveTime: 0 }],
      createTime: 0,
      notices: { expiryDays: 0, reservedGrants: true },
    };
    const failed = reservation(p, id(64), {
      userId,
      state: "FAILED",
      reason: "r",
      executeTime: 253_402_300_799_999,
      failure: { reason: "ACCOUNT_FROZEN", message: "m" },
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      unsynced: true,
      lastChange: {
        caller: { service: "shop", subject: "yuki" },
        time: 1_790_000_000_002,
        reason: "asked for",
      },
    });
    const done = reservation(p, "x", {
      executeTime: 0,
      state: "DONE",
      grant: { time: 1_790_000_000_001, entryNumber: 9, dueSince: 0 },
    });
    const cancelled = reservation(p, "y", {
      state: "CANCELLED",
      lastChange: { caller: asService("shop"), time: 1_790_000_000_001, reason: "" },
    });
    return [
      ["program", programRef(p), program],
      ["program without notices of expiry and tiers", programRef(quiet.programId), quiet],
      ["account", accountRef(p, userId), full],
      ["account without points", accountRef(p, "u"), account(p, "u", { slots: [0] })],
      ["use", entryRef(p, userId, 1), used],
      ["freeze", entryRef(p, userId, 2), frozen],
      ["highest number", entryRef(p, userId, 999_999_999_999), entry(999_999_999_999)],
      ["event key", eventRef(p, userId, `c:${event.eventId}`), key],
      [
        "event key, nothing reversed",
        eventRef(p, "u", "c:e1"),
        { ...key, entry: entry(1), reversedPoints: 0 },
      ],
      ["failed reservation", reservationRef(p, id(64)), failed],
      ["done reservation", reservationRef(p, "x"), done],
      ["reservation that its creator cancelled", reservationRef(p, "y"), cancelled],
    ];
  };

  test("come back as they were written", async () => {
    const { store, reader } = open();
    const all = extremes(newProgram());
    await fill(
      store,
      all.map(([, ref, value]) => write(ref, value)),
    );
    const loaded = await store.read(all.map(([, ref]) => ref));
    for (const [i, [name, ref, value]] of all.entries()) {
      expect.soft(loaded[i], name).toEqual({ value, version: 1 });
      expect.soft(await reader.get(ref), name).toEqual({ value, version: 1 });
    }
  });

  test("the test clock", async () => {
    const { store, reader } = open();
    const version = (await reader.get(testClockRef))?.version ?? 0;
    const set = await store.commit([write(testClockRef, { time: 123 }, version)], randomUUID());
    expect(set.kind).toBe("committed");
    expect((await reader.get(testClockRef))?.value).toEqual({ time: 123 });
    expect(await reader.get(programRef(newProgram()))).toBeUndefined();
  });
});

describe.each(stores)("%s: lists", (kind, open) => {
  test("programs by id", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const ids = ["d", "a", "c", "b", "e"].map((each) => `${p}-${each}`.slice(2));
    const lifetimes = [{ lifetimeMonths: 12, effectiveTime: 0 }];
    await fill(
      store,
      ids.map((id) =>
        write(programRef(id), { programId: id, timeZone: "UTC", lifetimes, createTime: 0 }),
      ),
    );
    const all = (await pages((page) => reader.programs(page), 2)).flat();
    const mine = all.map(({ programId }) => programId).filter((id) => ids.includes(id));
    expect(mine).toEqual([...ids].sort());
    const bad = await rejection(reader.programs({ size: 1, cursor: "{" }));
    expect(bad).toMatchObject({ reason: "INVALID_REQUEST" });
    if (kind !== "DynamoDB") return;
    const foreign = JSON.stringify({ pk: { S: "A#x" }, sk: { S: "A" } });
    const wrong = await rejection(reader.programs({ size: 1, cursor: foreign }));
    expect(wrong).toBeInstanceOf(DomainError);
  });

  test("ledger entries in both orders, in a range, of some types", async () => {
    const { store, reader } = open();
    const name = { programId: newProgram(), userId: "u" };
    const types = ["ISSUED", "USED", "EXPIRED"] as const;
    const type = (number: number) => types[number % 3] ?? "USED";
    const numbers = Array.from({ length: 120 }, (_, i) => i + 1);
    await fill(
      store,
      numbers.map((n) => write(entryRef(name.programId, "u", n), entry(n, { type: type(n) }))),
    );
    // Records with neighbouring keys, which must not be listed.
    await fill(store, [write(accountRef(name.programId, "u"), account(name.programId, "u"))]);
    await fill(store, [write(entryRef(name.programId, "u2", 1), entry(1))]);

    const all = { from: 1, to: Number.MAX_SAFE_INTEGER, newestFirst: false, types: [] };
    const list = async (query: Partial<Parameters<Reader["entries"]>[1]>, size: number) => {
      const found = await pages((page) => reader.entries(name, { ...all, ...query }, page), size);
      return found.flat().map(({ number }) => number);
    };
    expect(await list({}, 500)).toEqual(numbers);
    expect(await list({}, 7)).toEqual(numbers);
    expect(await list({ newestFirst: true }, 50)).toEqual([...numbers].reverse());
    expect(await list({ from: 10, to: 12 }, 2)).toEqual([10, 11, 12]);
    expect(await list({ from: 10, to: 12, newestFirst: true }, 3)).toEqual([12, 11, 10]);
    const wanted = numbers.filter((n) => type(n) !== "ISSUED");
    expect(await list({ types: ["USED", "EXPIRED"] }, 10)).toEqual(wanted);
    const reversed = [...wanted].reverse();
    expect(await list({ types: ["USED", "EXPIRED"], newestFirst: true }, 10)).toEqual(reversed);
    expect(await list({ types: ["FROZEN"] }, 50)).toEqual([]);
  });

  test("accounts with points that are due, oldest month first, in each shard", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const userIds = Array.from({ length: 60 }, (_, i) => `user-${i}`);
    const month = (i: number) => 24_300 + (i % 10);
    await fill(
      store,
      userIds.map((userId, i) =>
        write(accountRef(p, userId), account(p, userId, { oldest: month(i) })),
      ),
    );
    await fill(store, [write(accountRef(p, "none"), account(p, "none"))]);
    const shards = Array.from({ length: shardCount }, (_, shard) => shard);
    await vi.waitFor(async () => {
      const found = await Promise.all(
        shards.map((shard) => pages((page) => reader.dueAccounts(p, shard, 24_304, page), 2)),
      );
      const wanted = userIds.filter((_, i) => month(i) <= 24_304);
      const due = found.map((each) => each.flat().map(({ userId }) => userId));
      expect(due.flat().sort()).toEqual([...wanted].sort());
      for (const [shard, group] of due.entries()) {
        expect(group.every((userId) => shardOf(userId) === shard)).toBe(true);
        const months = group.map((userId) => month(userIds.indexOf(userId)));
        expect(months).toEqual([...months].sort());
      }
    }, patience);
    // An account without points is not in the index.
    const [gone] = userIds.filter((_, i) => month(i) === 24_300);
    const ref = accountRef(p, gone as string);
    await store.commit([write(ref, account(p, gone as string), 1)], randomUUID());
    await vi.waitFor(async () => {
      const shard = shardOf(gone as string);
      const found = await reader.dueAccounts(p, shard, 24_300, { size: 100, cursor: undefined });
      expect(found.items.map(({ userId }) => userId)).not.toContain(gone);
    }, patience);
  });

  test("all accounts of a program, in disjoint segments", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const userIds = Array.from({ length: 30 }, (_, i) => `u${i}`);
    await fill(
      store,
      userIds.map((userId) => write(accountRef(p, userId), account(p, userId))),
    );
    await fill(store, [
      write(entryRef(p, "u1", 1), entry(1)),
      write(accountRef(`${p}x`, "other"), account(`${p}x`, "other")),
    ]);
    const found = await Promise.all(
      [0, 1, 2].map((segment) => pages((page) => reader.accounts(p, segment, 3, page), 25)),
    );
    const all = found.flat(2);
    expect(all.map(({ userId }) => userId).sort()).toEqual([...userIds].sort());
    expect(all.every(({ programId }) => programId === p)).toBe(true);
  });

  test("the entries of all accounts of a program, in disjoint segments", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const userIds = Array.from({ length: 30 }, (_, i) => `u${i}`);
    const numbers = [1, 2, 3, 4, 5];
    for (const userId of userIds) {
      await fill(
        store,
        numbers.map((number) => write(entryRef(p, userId, number), entry(number))),
      );
      await fill(store, [write(accountRef(p, userId), account(p, userId))]);
    }
    await fill(store, [write(entryRef(`${p}x`, "u1", 1), entry(1))]);
    const window = { start: undefined, end: undefined };
    const segments = await Promise.all(
      [0, 1, 2].map((segment) =>
        pages((page) => reader.scannedEntries(p, window, segment, 3, page), 25),
      ),
    );
    const found = new Map<string, number[]>();
    for (const { userId, number, entry: stored } of segments.flat(2)) {
      expect(stored).toEqual(entry(number));
      found.set(userId, [...(found.get(userId) ?? []), number]);
    }
    expect(new Map([...found].sort())).toEqual(
      new Map(userIds.toSorted().map((userId) => [userId, numbers])),
    );
  });

  test("reservations of a user, by time, in a window", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const at = (i: number) => 1_790_000_000_000 + Math.floor(i / 2) * 1_000;
    const states = ["PENDING", "DONE", "PENDING", "FAILED", "CANCELLED"] as const;
    const rows = Array.from({ length: 20 }, (_, i) =>
      reservation(p, `r${String(i).padStart(2, "0")}`, {
        executeTime: at(i),
        state: states[i % states.length] as Reservation["state"],
      }),
    );
    const foreign = reservation(p, "foreign", { userId: "someone" });
    await fill(
      store,
      [...rows, foreign].map((row) => write(reservationRef(p, row.reservationId), row)),
    );
    const list = async (window: { start: number | undefined; end: number | undefined }) => {
      const ask = (page: PageRequest) =>
        reader.reservationsOfUser({ programId: p, userId: "u" }, window, page);
      return (await pages(ask, 3)).flat();
    };
    await vi.waitFor(async () => {
      expect(await list({ start: undefined, end: undefined })).toEqual(rows);
    }, patience);
    // The start belongs to the window, the end does not.
    expect(await list({ start: at(4), end: at(8) })).toEqual(rows.slice(4, 8));
    expect(await list({ start: at(18), end: undefined })).toEqual(rows.slice(18));
    for (const state of new Set(states)) {
      const ask = (page: PageRequest) =>
        reader.reservationsOfUserInState(
          { programId: p, userId: "u" },
          state,
          { start: at(4), end: at(18) },
          page,
        );
      const wanted = rows.slice(4, 18).filter((row) => row.state === state);
      expect((await pages(ask, 2)).flat(), state).toEqual(wanted);
    }
  });

  test("a page token of a user's list belongs to this user", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const rows = ["r1", "r2"].map((id, i) => reservation(p, id, { executeTime: 1_000 + i }));
    await fill(
      store,
      rows.map((row) => write(reservationRef(p, row.reservationId), row)),
    );
    const list = (userId: string, cursor?: string) =>
      reader.reservationsOfUser(
        { programId: p, userId },
        { start: undefined, end: undefined },
        { size: 1, cursor },
      );
    const first = await vi.waitFor(async () => {
      const page = await list("u");
      expect(page).toEqual({ items: [rows[0]], cursor: expect.any(String) });
      return page;
    }, patience);
    expect((await list("u", first.cursor)).items).toEqual([rows[1]]);
    await expect(list("someone", first.cursor)).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });
  });

  test("reservations in a state, merged over the shards", async () => {
    const { store, reader } = open();
    const p = newProgram();
    const base = 1_790_000_000_000;
    // Several at the same instant, so that pages are cut between equal times.
    const rows = Array.from({ length: 90 }, (_, i) =>
      reservation(p, `r${(i * 37) % 90}`, {
        executeTime: base + Math.floor(i / 7),
        state: i % 3 === 2 ? "FAILED" : "PENDING",
      }),
    );
    await fill(
      store,
      rows.map((row) => write(reservationRef(p, row.reservationId), row)),
    );
    const key = ({ executeTime, reservationId }: Reservation) => `${executeTime}#${reservationId}`;
    const pending = rows
      .filter(({ state }) => state === "PENDING")
      .sort((x, y) => (key(x) < key(y) ? -1 : 1));
    const window = { start: undefined, end: undefined };
    const ask = (page: PageRequest) => reader.reservationsInState(p, "PENDING", window, page);
    await vi.waitFor(async () => {
      expect((await pages(ask, 100)).flat()).toEqual(pending);
    }, patience);
    const narrow = { start: base + 3, end: base + 6 };
    const some = pending.filter(
      ({ executeTime }) => executeTime >= base + 3 && executeTime < base + 6,
    );
    // A page reads all shards, so the smallest pages are those of a short window.
    for (const [filter, size, wanted] of [
      [window, 7, pending],
      [window, 60, pending],
      [narrow, 1, some],
      [narrow, 4, some],
    ] as const) {
      const found = await pages(
        (page) => reader.reservationsInState(p, "PENDING", filter, page),
        size,
      );
      expect(found.flat()).toEqual(wanted);
      // No page but the last is short, and none is empty.
      expect(found.slice(0, -1).every((page) => page.length === size)).toBe(true);
    }
    expect(
      new Set(pending.map(({ reservationId }) => shardOf(reservationId))).size,
    ).toBeGreaterThan(8);
    const done = await pages((page) => reader.reservationsInState(p, "DONE", window, page), 4);
    expect(done).toEqual([[]]);
  });
});

describe.each(stores)("%s: reservations by the beginning of their reason", (_, open) => {
  // One row in five has the reason; others have none, or one that contains it elsewhere.
  const reasons = ["", "a spring sale", "spring", "Spring sale", "spring sale: shoes"];
  const window = { start: undefined, end: undefined };

  const fillWith = async (store: ItemStore, p: string) => {
    const rows = Array.from({ length: 60 }, (_, i) =>
      reservation(p, `r${String(i).padStart(2, "0")}`, {
        executeTime: 1_790_000_000_000 + i,
        reason: reasons[i % reasons.length] as string,
      }),
    );
    await fill(
      store,
      rows.map((row) => write(reservationRef(p, row.reservationId), row)),
    );
    return rows;
  };

  test.each(["user", "state"])("of a %s, over all pages", async (of) => {
    const { store, reader } = open();
    const p = newProgram();
    const rows = await fillWith(store, p);
    const list = (reasonPrefix: string, size: number, more: object = window) => {
      const filter = { ...window, ...more, reasonPrefix };
      return pages(
        (page) =>
          of === "user"
            ? reader.reservationsOfUser({ programId: p, userId: "u" }, filter, page)
            : reader.reservationsInState(p, "PENDING", filter, page),
        size,
      );
    };
    const startingWith = (prefix: string) => rows.filter(({ reason }) => reason.startsWith(prefix));
    await vi.waitFor(async () => expect((await list("", 100)).flat()).toEqual(rows), patience);
    for (const size of [5, 100]) {
      for (const prefix of ["", "spring", "spring sale", "none"]) {
        expect((await list(prefix, size)).flat(), prefix).toEqual(startingWith(prefix));
      }
    }
    const [start, end] = [1_790_000_000_010, 1_790_000_000_030];
    const within = startingWith("spring").slice(4, 12);
    for (const size of [1, 4]) {
      expect((await list("spring", size, { start, end })).flat()).toEqual(within);
    }
    expect((await list("none", 1, { start, end })).flat()).toEqual([]);
  });

  test("a page of a user reads no more rows than it may have items", async () => {
    const { store, reader } = open();
    const p = newProgram();
    await fillWith(store, p);
    const list = (reasonPrefix: string, page: PageRequest) =>
      reader.reservationsOfUser({ programId: p, userId: "u" }, { ...window, reasonPrefix }, page);
    await vi.waitFor(async () => {
      expect((await list("", { size: 100, cursor: undefined })).items).toHaveLength(60);
    }, patience);
    const first = await list("none", { size: 7, cursor: undefined });
    expect(first).toEqual({ items: [], cursor: expect.any(String) });
    const { items } = await list("", { size: 1, cursor: first.cursor });
    expect(items[0]?.reservationId).toBe("r07");
  });
});

/** The sizes that docs/keys.md promises. */
describe("the largest items", () => {
  const programId = "p".repeat(32);
  const userId = "u".repeat(64);
  const event = { origin: "c", eventId: "e".repeat(128) } as const;
  const late = 253_402_300_799_999;
  const hash = `1:${"h".repeat(43)}`;
  /** A refund over 36 months, each with as many points as the sum of all permits. */
  const refund = (caller: Caller): LedgerEntry => ({
    number: 999_999_999_999,
    type: "REFUNDED",
    event,
    createTime: late,
    effectiveTime: late,
    points: maxPoints - 1,
    changes: Array.from({ length: 36 }, (_, i) => ({
      month: 119_964 + i,
      points: Math.floor(maxPoints / 36),
    })),
    total: "refundedPoints",
    frozen: false,
    availablePoints: maxBalance - 1,
    reason: "r".repeat(128),
    caller,
    relatedEvent: { origin: "c", eventId: "d".repeat(128) },
  });
  const cause = "o".repeat(128);
  const callerOf = (serviceBytes: number, subjectBytes: number) => ({
    service: "w".repeat(serviceBytes),
    subject: "s".repeat(subjectBytes),
  });
  const uuidBytes = 36;

  const check = (name: string, ref: Ref, value: Records[Kind], bytes = 1_024) => {
    const size = itemSize(toItem(ref, value, 999_999_999_999));
    expect(size, name).toBeLessThan(bytes);
  };

  test("account", () => {
    check(
      "account",
      accountRef(programId, userId),
      account(programId, userId, {
        month: 119_999,
        slots: Array.from({ length: 36 }, () => Math.floor(maxBalance / 36)),
        totals: {
          issuedPoints: maxBalance - 1,
          usedPoints: maxBalance - 1,
          expiredPoints: 2 * maxBalance - 1,
          refundedPoints: maxBalance - 1,
          revokedPoints: maxBalance - 1,
          heldPoints: maxBalance - 1,
          capturedPoints: maxBalance - 1,
          releasedPoints: maxBalance - 1,
        },
        frozen: true,
        last: 999_999_999_999,
        time: late,
        oldest: 119_964,
      }),
    );
  });

  test("entry and event key", () => {
    const entry = refund(callerOf(64, 128));
    check("entry", entryRef(programId, userId, entry.number), entry);
    const ref = eventRef(programId, userId, `c:${event.eventId}`);
    const key = { hash, entry, availablePoints: maxBalance - 1, reversedPoints: 0 };
    check("event key", ref, key, 1_040);
    check("event key by a UUID", ref, { ...key, entry: refund(callerOf(64, uuidBytes)) });
    check(
      "entry with a cause",
      entryRef(programId, userId, entry.number),
      { ...entry, cause },
      1_112,
    );
    check("event key with a cause", ref, { ...key, entry: { ...entry, cause } }, 1_164);
    const { relatedEvent: _, ...grant } = { ...entry, changes: entry.changes.slice(0, 1), cause };
    check("grant with a cause", ref, {
      ...key,
      entry: { ...grant, type: "ISSUED", expireTime: late },
    });
  });

  test("program", () => {
    check("program", programRef(programId), {
      programId,
      timeZone: "America/Argentina/ComodRivadavia",
      lifetimes: Array.from({ length: 36 }, (_, i) => ({
        lifetimeMonths: i + 1,
        effectiveTime: late - i,
      })),
      createTime: late,
      reservationPause: { time: late, caller: callerOf(64, 128), reason: "r".repeat(128) },
      notices: { expiryDays: 27, reservedGrants: true },
    });
  });

  test("reservation", () => {
    const id = "i".repeat(64);
    // A cancelled reservation may have failed, but its points were never granted.
    const row = reservation(programId, id, {
      userId,
      points: maxPoints - 1,
      reason: "r".repeat(128),
      creator: callerOf(64, 128),
      hash,
      state: "CANCELLED",
      executeTime: late,
      createTime: late,
      updateTime: late,
      grant: { time: late, entryNumber: 999_999_999_999, dueSince: late },
      failure: { reason: "LEDGER_ENTRY_NOT_FOUND", message: "m".repeat(64) },
      unsynced: true,
      lastChange: { caller: callerOf(64, 127), time: late, reason: "y".repeat(128) },
    });
    check("reservation", reservationRef(programId, id), row, 1_280);
    check("reservation with a cause", reservationRef(programId, id), { ...row, cause }, 1_410);
    const changedBy = callerOf(32, uuidBytes + 1);
    const byUuids = {
      creator: callerOf(32, uuidBytes),
      lastChange: { caller: changedBy, time: late, reason: "y".repeat(128) },
    };
    check("reservation by UUIDs", reservationRef(programId, id), { ...row, ...byUuids });
  });
});
