/** Tests points that end early and their extension through gRPC. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  EventOrigin,
  LedgerEntry_Type as Type,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { shardCount } from "../../../src/points/ports/points.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { lineOf } from "../../support/fixtures/ledger-lines.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const setTime = (text: string) => server.clock.setTime({ time: at(text) });
const iso = (time: Parameters<typeof timestampDate>[0] | undefined) =>
  time && timestampDate(time).toISOString();

/** A program of its own, at noon of 10 November 2026 in Tokyo. */
async function account(programId: string, lifetimeMonths = 12) {
  await setTime("2026-11-10T12:00:00+09:00");
  await server.programs.createProgram({
    ...{ programId, lifetimeMonths },
    bulkRules: { requiredApprovalCount: 0 },
  });
  return { programId, userId: "u" };
}

test("a grant says when it ends, and expires at the right instant", async () => {
  const of = await account("early");
  await server.points.grantPoints({ ...of, eventId: "year", points: 100n });
  const request = { ...of, eventId: "quarter", points: 50n, expireMonth: "2027-01" };
  const { entry, availablePoints } = await server.points.grantPoints(request);
  expect([iso(entry?.expireTime), availablePoints]).toEqual(["2027-01-31T15:00:00.000Z", 150n]);
  const { balance } = await server.points.getBalance(of);
  expect(
    balance?.buckets.map(({ month, points, expireTime }) => [month, points, iso(expireTime)]),
  ).toEqual([
    ["2026-02", 50n, "2027-01-31T15:00:00.000Z"],
    ["2026-11", 100n, "2027-10-31T15:00:00.000Z"],
  ]);
  expect(balance?.nextExpiring).toEqual(balance?.buckets[0]);
  await setTime("2027-02-01T00:00:00+09:00");
  for (let shard = 0; shard < shardCount; shard++) {
    await expireDueInShard(server.deps, { programId: of.programId, shard }, () => true);
  }
  const { entries } = await server.points.listLedgerEntries(of);
  expect(entries.map(lineOf)[0]).toBe("3 EXPIRED 50 (02:-50) 100");

  // A call that is sent again gets the first result, although its month is over; a new one is not.
  const again = await server.points.grantPoints(request);
  expect(again).toMatchObject({ replayed: true, availablePoints: 150n, entry });
  const late = await refusalOf(server.points.grantPoints({ ...request, eventId: "new" }));
  expect(late).toMatchObject({
    reason: "LIMIT_EXCEEDED",
    metadata: { earliest_expire_month: "2027-02", latest_expire_month: "2028-01" },
  });
  const verified = await server.points.verifyAccount(of);
  expect(verified.differences).toEqual([]);
});

test("a lengthening lengthens, and an expiry in a reused month is found by its name", async () => {
  const of = await account("longer");
  await server.points.grantPoints({ ...of, eventId: "a", points: 5n, expireMonth: "2026-12" });
  await server.programs.updateProgram({
    program: { programId: of.programId, lifetimeMonths: 24 },
  });
  await setTime("2026-11-11T12:00:00+09:00");
  const { entry } = await server.points.grantPoints({
    ...of,
    eventId: "b",
    points: 7n,
    expireMonth: "2026-12",
  });
  expect(iso(entry?.expireTime)).toBe("2026-12-31T15:00:00.000Z");
  await setTime("2027-01-01T00:00:00+09:00");
  await server.points.grantPoints({ ...of, eventId: "c", points: 1n });
  const { balance } = await server.points.getBalance(of);
  expect(balance?.buckets.map(({ points, expireTime }) => [points, iso(expireTime)])).toEqual([
    [5n, "2027-12-31T15:00:00.000Z"],
    [1n, "2028-12-31T15:00:00.000Z"],
  ]);
  const event = { origin: EventOrigin.EXPIRY, eventId: "2025-01/2026-12" };
  const found = await server.points.getLedgerEntry({ ...of, key: { case: "event", value: event } });
  expect(found.entry).toMatchObject({ type: Type.EXPIRED, points: 7n, event });
  expect((await server.points.verifyAccount(of)).differences).toEqual([]);
});

test("an extension moves what is left, also on a frozen account", async () => {
  const of = await account("extended");
  await server.points.grantPoints({ ...of, eventId: "g", points: 50n, expireMonth: "2026-12" });
  await server.points.usePoints({ ...of, eventId: "use", points: 20n });
  await server.points.freezeAccount({ ...of, eventId: "freeze" });
  const request = {
    ...of,
    eventId: "x",
    grantEvent: { eventId: "g" },
    expireMonth: "2027-06",
    reason: "apology",
  };
  const first = await server.points.extendExpiry(request);
  expect(first).toMatchObject({
    replayed: false,
    availablePoints: 30n,
    entry: {
      type: Type.EXTENDED,
      points: 30n,
      reason: "apology",
      relatedEvent: { origin: EventOrigin.CALLER, eventId: "g" },
    },
  });
  expect(iso(first.entry?.expireTime)).toBe("2027-06-30T15:00:00.000Z");
  const extend = (eventId: string, grantEventId: string, expireMonth: string) =>
    server.points.extendExpiry({
      ...request,
      eventId,
      grantEvent: { eventId: grantEventId },
      expireMonth,
    });
  for (const [grantEventId, expireMonth, reason] of [
    ["none", "2027-08", "LEDGER_ENTRY_NOT_FOUND"],
    ["use", "2027-08", "WRONG_STATE"],
    ["x", "2027-11", "LIMIT_EXCEEDED"],
    ["x", "2026-10", "LIMIT_EXCEEDED"],
  ] as const) {
    expect((await refusalOf(extend("y", grantEventId, expireMonth))).reason).toBe(reason);
  }
});
