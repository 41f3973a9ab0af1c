/** Tests lists: pages in both orders, time windows, filters, and tokens of one list only. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type EventName,
  EventOrigin,
  LedgerEntry_Type,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  ExpiredPointsPolicy,
  ListLedgerEntriesRequest_Order as Order,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { Reservation_State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { allResponses } from "../../support/fixtures/pages.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe("ListLedgerEntries", () => {
  const userId = "many";
  const minute = (i: number) => at(new Date(Date.UTC(2026, 4, 1, 0, i)).toISOString());

  // Entry i is recorded at minute i: odd ones grants of 10, even ones uses of 1.
  beforeAll(async () => {
    for (let i = 1; i <= 23; i++) {
      await server.clock.setTime({ time: minute(i) });
      const event = { userId, eventId: `e${i}` };
      if (i % 2) await server.points.grantPoints({ ...event, points: 10n });
      else await server.points.usePoints({ ...event, points: 1n });
    }
  });

  const all = Array.from({ length: 23 }, (_, i) => i + 1);

  const numbers = async (request: Parameters<typeof server.points.listLedgerEntries>[0]) => {
    const found = await allResponses((pageToken) =>
      server.points.listLedgerEntries({ userId, ...request, pageToken }),
    );
    return found.map(({ entries }) => entries.map(({ number }) => Number(number)));
  };

  test.each([1, 7, 22, 23, 24])("in pages of %i, newest and oldest first", async (pageSize) => {
    const oldest = await numbers({ pageSize, order: Order.OLDEST_FIRST });
    expect(oldest.flat()).toEqual(all);
    for (const page of oldest) expect(page.length).toBeLessThanOrEqual(pageSize);
    for (const order of [Order.NEWEST_FIRST, Order.UNSPECIFIED]) {
      expect((await numbers({ pageSize, order })).flat()).toEqual(all.toReversed());
    }
  });

  test("of one type or several", async () => {
    const odd = all.filter((i) => i % 2);
    const types = [LedgerEntry_Type.ISSUED];
    const order = Order.OLDEST_FIRST;
    expect((await numbers({ types, order, pageSize: 5 })).flat()).toEqual(odd);
    const both = [LedgerEntry_Type.ISSUED, LedgerEntry_Type.USED];
    expect((await numbers({ types: both, order })).flat()).toEqual(all);
    expect((await numbers({ types: [LedgerEntry_Type.FROZEN] })).flat()).toEqual([]);
  });

  test("in any window of time", async () => {
    for (const [from, to] of [
      [0, 24],
      [1, 23],
      [5, 12],
      [23, 24],
      [22, 23],
      [24, 30],
      [0, 1],
      [9, 9],
      [12, 5],
    ] as const) {
      const window = { createTimeFrom: minute(from), createTimeBefore: minute(to) };
      const found = await numbers({ ...window, order: Order.OLDEST_FIRST, pageSize: 3 });
      expect(found.flat(), `${from} to ${to}`).toEqual(all.filter((i) => i >= from && i < to));
    }
    const since = await numbers({ createTimeFrom: minute(20), order: Order.OLDEST_FIRST });
    expect(since.flat()).toEqual([20, 21, 22, 23]);
    const until = await numbers({ createTimeBefore: minute(4), order: Order.OLDEST_FIRST });
    expect(until.flat()).toEqual([1, 2, 3]);
  });

  test("a window has millisecond edges: the start belongs to it, the end does not", async () => {
    const before = { ...minute(5), seconds: minute(5).seconds - 1n, nanos: 999_000_000 };
    const order = Order.OLDEST_FIRST;
    const found = await numbers({ createTimeFrom: before, createTimeBefore: minute(6), order });
    expect(found.flat()).toEqual([5]);
    const after = { ...minute(5), nanos: 1_000_000 };
    expect(
      (await numbers({ createTimeFrom: after, createTimeBefore: minute(7), order })).flat(),
    ).toEqual([6]);
  });

  test("new entries do not change the later pages", async () => {
    const list = (pageToken: string) =>
      server.points.listLedgerEntries({ userId: "grows", pageSize: 2, pageToken });
    for (let i = 1; i <= 4; i++) {
      await server.points.grantPoints({ userId: "grows", eventId: `e${i}`, points: 1n });
    }
    const first = await list("");
    await server.points.grantPoints({ userId: "grows", eventId: "e5", points: 1n });
    const second = await list(first.nextPageToken);
    const seen = [...first.entries, ...second.entries].map(({ number }) => Number(number));
    expect(seen).toEqual([4, 3, 2, 1]);
  });

  test("a token is valid only for its list", async () => {
    const { points } = server;
    const list = { userId, pageSize: 3 };
    const { nextPageToken: pageToken } = await points.listLedgerEntries(list);
    expect(pageToken).not.toBe("");
    const other = await points.listLedgerEntries({ ...list, pageSize: 4, pageToken });
    expect(other.entries).toHaveLength(4);
    const time = minute(3);
    const damaged = (pageToken.startsWith("A") ? "B" : "A") + pageToken.slice(1);
    for (const wrong of [
      { ...list, userId: "other", pageToken },
      { ...list, order: Order.OLDEST_FIRST, pageToken },
      { ...list, types: [LedgerEntry_Type.USED], pageToken },
      { ...list, createTimeFrom: time, pageToken },
      { ...list, createTimeBefore: time, pageToken },
      { ...list, pageToken: "x" },
      { ...list, pageToken: "%%%" },
      { ...list, pageToken: damaged },
      { ...list, pageToken: pageToken.slice(0, -4) },
      { ...list, pageToken: `${pageToken}AAAA` },
      { ...list, pageToken: Buffer.from('1{"pk":{"S":"P"}}').toString("base64url") },
    ]) {
      expect(await refusalOf(points.listLedgerEntries(wrong))).toMatchObject({
        code: "InvalidArgument",
        reason: "INVALID_REQUEST",
        fields: ["page_token"],
      });
    }
    const foreign = server.programs.listPrograms({ pageToken });
    expect((await refusalOf(foreign)).fields).toEqual(["page_token"]);
  });

  test("ids of any allowed characters fit into a token", async () => {
    const userId = `"\\`.repeat(32);
    for (const eventId of ["a", "b"]) {
      await server.points.grantPoints({ userId, eventId, points: 1n });
    }
    const found = await allResponses((pageToken) =>
      server.points.listLedgerEntries({ userId, pageSize: 1, pageToken }),
    );
    expect(found.flatMap(({ entries }) => entries.map(({ event }) => event?.eventId))).toEqual([
      "b",
      "a",
    ]);
  });
});

describe("GetLedgerEntry", () => {
  test("by number and by event", async () => {
    const userId = "one";
    await server.points.grantPoints({ userId, eventId: "g", points: 1n });
    const { entry } = await server.points.usePoints({ userId, eventId: "u", points: 1n });
    const get = (key: Parameters<typeof server.points.getLedgerEntry>[0]["key"]) =>
      server.points.getLedgerEntry({ userId, ...(key && { key }) });
    expect((await get({ case: "number", value: 2n })).entry).toEqual(entry);
    for (const origin of [EventOrigin.CALLER, EventOrigin.UNSPECIFIED]) {
      const found = await get({ case: "event", value: { origin, eventId: "u" } });
      expect(found.entry).toEqual(entry);
    }
    const missing = [
      get({ case: "number", value: 3n }),
      get({ case: "number", value: 9_007_199_254_740_991n }),
      get({ case: "event", value: { eventId: "none" } }),
      get({ case: "event", value: { origin: EventOrigin.RESERVATION, eventId: "u" } }),
    ];
    for (const refusal of await Promise.all(missing.map(refusalOf))) {
      expect(refusal).toMatchObject({ code: "NotFound", reason: "LEDGER_ENTRY_NOT_FOUND" });
    }
  });

  test.each([
    10n ** 11n,
    10n ** 12n - 1n,
    10n ** 12n,
    10n ** 12n + 15n,
    2n ** 53n - 1n,
    2n ** 63n - 1n,
  ])("number %i, longer than any ledger, is not found", async (value) => {
    await server.points.grantPoints({ userId: "one", eventId: "long", points: 1n });
    const key = { case: "number", value } as const;
    expect(await refusalOf(server.points.getLedgerEntry({ userId: "one", key }))).toMatchObject({
      code: "NotFound",
      reason: "LEDGER_ENTRY_NOT_FOUND",
    });
  });

  test("the expiry after a refund whose id has the largest length", async () => {
    const account = { programId: "long", userId: "one" };
    await server.programs.createProgram({ programId: "long", lifetimeMonths: 1 });
    await server.clock.setTime({ time: at("2026-06-10T00:00:00Z") });
    await server.points.grantPoints({ ...account, eventId: "g", points: 5n });
    await server.points.usePoints({ ...account, eventId: "u", points: 5n });
    await server.clock.setTime({ time: at("2026-07-10T00:00:00Z") });
    const eventId = "r".repeat(128);
    const expiredPointsPolicy = ExpiredPointsPolicy.ORIGINAL_EXPIRY;
    await server.points.refundPoints({ ...account, eventId, useEventId: "u", expiredPointsPolicy });
    const value = { origin: EventOrigin.EXPIRY, eventId: `2026-06/c:${eventId}` };
    const key = { case: "event", value } as const;
    const { entry } = await server.points.getLedgerEntry({ ...account, key });
    expect(entry).toMatchObject({ event: value, points: 5n, number: 4n });
  });

  test("an expiry by its event, at a month's end and after a refund", async () => {
    const account = { programId: "short", userId: "one" };
    await server.programs.createProgram({ programId: "short", lifetimeMonths: 1 });
    const event = (eventId: string) => ({ ...account, eventId });
    await server.clock.setTime({ time: at("2026-06-10T00:00:00Z") });
    await server.points.grantPoints({ ...event("g"), points: 5n });
    await server.points.usePoints({ ...event("u"), points: 2n });
    await server.clock.setTime({ time: at("2026-07-10T00:00:00Z") });
    const expiredPointsPolicy = ExpiredPointsPolicy.ORIGINAL_EXPIRY;
    await server.points.refundPoints({ ...event("r"), useEventId: "u", expiredPointsPolicy });
    const { entries } = await server.points.listLedgerEntries({
      ...account,
      types: [LedgerEntry_Type.EXPIRED],
    });
    expect(entries.map(({ event }) => event?.eventId)).toEqual(["2026-06/c:r", "2026-06"]);
    for (const entry of entries) {
      const key = { case: "event", value: entry.event as EventName } as const;
      const found = await server.points.getLedgerEntry({ ...account, key });
      expect(found.entry).toEqual(entry);
    }
    for (const eventId of ["2026-05", "2026-07", "2026-06/c:g", "2026-06/c:none", "9999-12", "x"]) {
      const value = { origin: EventOrigin.EXPIRY, eventId };
      const call = server.points.getLedgerEntry({ ...account, key: { case: "event", value } });
      expect(await reasonOf(call)).toBe("LEDGER_ENTRY_NOT_FOUND");
    }
  });
});

describe("ListPrograms", () => {
  test("by id, in pages", async () => {
    const ids = ["a", "b-1", "c", "d"];
    for (const programId of ids.toReversed()) await server.programs.createProgram({ programId });
    const found = await allResponses((pageToken) =>
      server.programs.listPrograms({ pageSize: 2, pageToken }),
    );
    const seen = found.map(({ programs }) => programs.map(({ programId }) => programId));
    expect(seen.flat()).toEqual([...ids, "default", "long", "short"]);
    expect(seen[0]).toHaveLength(2);
  });
});

describe("ListReservations", () => {
  const userId = "waits";
  const hour = (i: number) => at(new Date(Date.UTC(2029, 0, 1, i)).toISOString());

  beforeAll(async () => {
    for (let i = 1; i <= 9; i++) {
      await server.reservations.createReservation({
        reservationId: `r${i}`,
        userId,
        points: 1n,
        executeTime: i === 9 ? at("2020-01-01T00:00:00Z") : hour(i),
        allowPastExecuteTime: true,
      });
    }
    await server.reservations.cancelReservation({ reservationId: "r4" });
  });

  const ids = async (request: Parameters<typeof server.reservations.listReservations>[0]) => {
    const found = await allResponses((pageToken) =>
      server.reservations.listReservations({ pageSize: 2, ...request, pageToken }),
    );
    const rows = found.flatMap(({ reservations }) => reservations);
    return rows.map(({ reservationId }) => reservationId);
  };
  const inState = (value: Reservation_State) => ({ filter: { case: "state", value } as const });
  const ofUser = { filter: { case: "userId", value: userId } as const };

  test("of a user, in the order of their time", async () => {
    const rest = ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"];
    expect(await ids(ofUser)).toEqual(["r9", ...rest]);
    expect(await ids({ ...ofUser, executeTimeFrom: hour(3), executeTimeBefore: hour(6) })).toEqual([
      "r3",
      "r4",
      "r5",
    ]);
    expect(await ids({ ...ofUser, executeTimeFrom: hour(6), executeTimeBefore: hour(6) })).toEqual(
      [],
    );
  });

  test("in a state: a pending one that is due is PROCESSING", async () => {
    const { PENDING, PROCESSING, FAILED, DONE, CANCELLED } = Reservation_State;
    const waiting = ["r1", "r2", "r3", "r5", "r6", "r7", "r8"];
    expect(await ids(inState(PENDING))).toEqual(waiting);
    expect(await ids(inState(PROCESSING))).toEqual(["r9"]);
    expect(await ids(inState(FAILED))).toEqual([]);
    for (const ended of [DONE, CANCELLED]) {
      const { reason, fields } = await refusalOf(
        server.reservations.listReservations(inState(ended)),
      );
      expect([reason, fields]).toEqual(["INVALID_REQUEST", ["state"]]);
    }
    const windowed = { ...inState(PENDING), executeTimeFrom: hour(2), executeTimeBefore: hour(6) };
    expect(await ids(windowed)).toEqual(["r2", "r3", "r5"]);
    expect(
      await ids({ ...inState(PENDING), executeTimeBefore: at("2020-01-02T00:00:00Z") }),
    ).toEqual([]);
  });

  test("with a reason that begins as requested", async () => {
    const ofShop = { filter: { case: "userId", value: "shop-user" } as const };
    for (const [i, reason] of ["", "sale: a", "a sale", "sale: b", "sal"].entries()) {
      await server.reservations.createReservation({
        reservationId: `sale-${i}`,
        userId: "shop-user",
        points: 1n,
        reason,
        executeTime: hour(100 + i),
      });
    }
    const pending = inState(Reservation_State.PENDING);
    for (const list of [ofShop, pending]) {
      const named = { ...list, executeTimeFrom: hour(100) };
      expect(await ids({ ...named, reasonPrefix: "sale" })).toEqual(["sale-1", "sale-3"]);
      expect(await ids({ ...named, reasonPrefix: "sale", pageSize: 1 })).toHaveLength(2);
      expect(await ids({ ...named, reasonPrefix: "none" })).toEqual([]);
      expect(await ids(named)).toHaveLength(5);
    }
  });

  test("a token is valid only for its list", async () => {
    const list = { ...inState(Reservation_State.PENDING), pageSize: 2 };
    const { nextPageToken: pageToken } = await server.reservations.listReservations(list);
    expect(pageToken).not.toBe("");
    for (const wrong of [
      { ...ofUser, pageToken },
      { ...inState(Reservation_State.FAILED), pageToken },
      { ...list, executeTimeFrom: hour(1), pageToken },
      { ...list, reasonPrefix: "r", pageToken },
      { ...list, programId: "a", pageToken },
    ]) {
      const { reason, fields } = await refusalOf(server.reservations.listReservations(wrong));
      expect([reason, fields]).toEqual(["INVALID_REQUEST", ["page_token"]]);
    }
  });
});
