/** Tests the readers of points and reservations: their lists, windows, shards and pages. */
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { shardOf } from "../../../src/platform/dynamodb/codec.ts";
import type { ItemStore } from "../../../src/platform/engine/item-store.ts";
import type { PageRequest } from "../../../src/platform/ports/pages.ts";
import { shardCount } from "../../../src/points/ports/points.ts";
import { accountRef, entryRef } from "../../../src/points/ports/records.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { account, entry, reservation } from "../../support/fixtures/stored-points.ts";
import { patience } from "../../support/fixtures/waiting.ts";
import { openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, pages, write } from "../../support/stores/records.ts";

/** A new program id, so that tests with the same tables do not share records. */
const newProgram = () => `p-${randomUUID().slice(0, 23)}`;

describe("lists", () => {
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
    const found = await Promise.all(
      shards.map((shard) => pages((page) => reader.dueAccounts(p, shard, 24_304, page), 2)),
    );
    const wanted = userIds.filter((_, i) => month(i) <= 24_304);
    const due = found.map((each) => each.flat().map(({ userId }) => userId));
    expect(due.flat().sort()).toEqual([...wanted].sort());
    for (const [shard, group] of due.entries()) {
      expect(group.every((userId) => shardOf(userId, shardCount) === shard)).toBe(true);
      const months = group.map((userId) => month(userIds.indexOf(userId)));
      expect(months).toEqual([...months].sort());
    }
    // An account without points is not in the index.
    const [gone] = userIds.filter((_, i) => month(i) === 24_300);
    const ref = accountRef(p, gone as string);
    await store.commit([write(ref, account(p, gone as string), 1)], randomUUID());
    const shard = shardOf(gone as string, shardCount);
    const left = await reader.dueAccounts(p, shard, 24_300, { size: 100, cursor: undefined });
    expect(left.items.map(({ userId }) => userId)).not.toContain(gone);
  });

  test("accounts in disjoint segments, and their ledgers from a number on", async () => {
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
    const segments = await Promise.all(
      [0, 1, 2].map((segment) => allItems((page) => reader.accounts(p, segment, 3, page), 7)),
    );
    const found = segments.flat();
    expect(found.map(({ userId }) => userId).toSorted()).toEqual(userIds.toSorted());
    for (const name of found) {
      // A page has so many items, and an item up to 16 entries.
      const entries = await allItems((page) => reader.ledgerFrom(name, 3, page), 2);
      const { userId } = name;
      expect(entries).toEqual(numbers.map((number) => ({ userId, number, entry: entry(number) })));
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
    const byTime = (x: Reservation, y: Reservation) => (key(x) < key(y) ? -1 : 1);
    const pending = rows.filter(({ state }) => state === "PENDING").sort(byTime);
    const window = { start: undefined, end: undefined };
    const ask = (page: PageRequest) =>
      reader.reservationsInState({ programId: p }, "PENDING", window, page);
    expect((await pages(ask, 100)).flat()).toEqual(pending);
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
        (page) => reader.reservationsInState({ programId: p }, "PENDING", filter, page),
        size,
      );
      expect(found.flat()).toEqual(wanted);
      // No page but the last is short, and none is empty.
      expect(found.slice(0, -1).every((page) => page.length === size)).toBe(true);
    }
    expect(
      new Set(pending.map(({ reservationId }) => shardOf(reservationId, shardCount))).size,
    ).toBeGreaterThan(8);
    const failed = await pages(
      (page) => reader.reservationsInState({ programId: p }, "FAILED", window, page),
      60,
    );
    expect(failed.flat()).toEqual(rows.filter(({ state }) => state === "FAILED").sort(byTime));
  });
});

describe("reservations by the beginning of their reason", () => {
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
            : reader.reservationsInState({ programId: p }, "PENDING", filter, page),
        size,
      );
    };
    const startingWith = (prefix: string) => rows.filter(({ reason }) => reason.startsWith(prefix));
    expect((await list("", 100)).flat()).toEqual(rows);
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
    expect((await list("", { size: 100, cursor: undefined })).items).toHaveLength(60);
    const first = await list("none", { size: 7, cursor: undefined });
    expect(first).toEqual({ items: [], cursor: expect.any(String) });
    const { items } = await list("", { size: 1, cursor: first.cursor });
    expect(items[0]?.reservationId).toBe("r07");
  });
});
