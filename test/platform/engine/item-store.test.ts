/** Tests transactions and records of points on both stores: what the engine depends on. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { dueHourShardCount, markShardCount } from "../../../src/due/ports/due.ts";
import { dueHourRef, pendingStartRef } from "../../../src/due/ports/records.ts";
import { shardOf } from "../../../src/platform/dynamodb/codec.ts";
import type { Kind, Records, Ref } from "../../../src/platform/ports/records.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { maxPoints } from "../../../src/platform/words/units.ts";
import { accountRef, entryRef, eventRef, programRef } from "../../../src/points/ports/records.ts";
import type { EventKey, LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { maxBalance } from "../../../src/points/rules/points.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { account, entry, eventKey, reservation } from "../../support/fixtures/stored-points.ts";
import { bothStores } from "../../support/stores/both-stores.ts";
import { fill, pages, rejection, remove, write } from "../../support/stores/records.ts";

const { stores } = bothStores();

/** A new program id, so that tests with the same tables do not share records. */
const newProgram = () => `p-${randomUUID().slice(0, 23)}`;

describe.each(stores)("%s: transactions", (_, open) => {
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
    const listed = await pages(
      (page) => reader.pendingStarts(shardOf(ref.id, markShardCount), page),
      4,
    );
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

  test("due hours are listed by shard, up to those that have begun", async () => {
    const { store, reader, p } = setUp();
    const hours = [0, 3_600_000, 7_200_000, 3_000_000_000_000].map((hour) => ({
      programId: p,
      hour,
    }));
    await fill(
      store,
      hours.map((each) => write(dueHourRef(each), each)),
    );
    const shard = shardOf(p, dueHourShardCount);
    const begunAt = async (until: number) => {
      const listed = await pages((page) => reader.dueHours(shard, until, page), 1);
      return listed.flat().filter(({ programId }) => programId === p);
    };
    expect(await begunAt(3_599_999)).toEqual(hours.slice(0, 1));
    expect(await begunAt(3_600_000)).toEqual(hours.slice(0, 2));
    expect(await begunAt(9_999_999)).toEqual(hours.slice(0, 3));
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
});
