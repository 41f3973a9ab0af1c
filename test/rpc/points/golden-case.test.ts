/** Tests the golden case of the design step by step through gRPC. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  EventOrigin,
  type LedgerEntry,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { lineOf } from "../../support/fixtures/ledger-lines.ts";
import { at } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.programs.createProgram({ programId: "golden", lifetimeMonths: 3 });
});
afterAll(() => server.stop());

const account = { programId: "golden", userId: "u" };

const setTime = (text: string) => server.clock.setTime({ time: at(text) });

const grant = (eventId: string, points: bigint) =>
  server.points.grantPoints({ ...account, eventId, points });

/** What the account holds, as `10 = 2026-01:10`, and when each bucket expires. */
async function held(): Promise<string> {
  const { balance } = await server.points.getBalance(account);
  const months = balance?.buckets.map(({ month, points }) => `${month}:${points}`) ?? [];
  expect(balance?.nextExpiring).toEqual(balance?.buckets[0]);
  return [`${balance?.availablePoints} =`, ...months].join(" ");
}

async function expiries(): Promise<string[]> {
  const { balance } = await server.points.getBalance(account);
  return balance?.buckets.map(({ expireTime }) => isoOf(expireTime)) ?? [];
}

const isoOf = (time: LedgerEntry["createTime"]) => (time ? timestampDate(time).toISOString() : "");

describe("lifetime 3", () => {
  test("January: grant 10", async () => {
    await setTime("2026-01-15T12:00:00+09:00");
    const { entry, availablePoints: balance, replayed } = await grant("jan", 10n);
    expect([balance, replayed, entry?.number]).toEqual([10n, false, 1n]);
    expect(isoOf(entry?.expireTime)).toBe("2026-03-31T15:00:00.000Z");
    expect(await held()).toBe("10 = 2026-01:10");
    expect(await expiries()).toEqual(["2026-03-31T15:00:00.000Z"]);
  });

  test("end of January", async () => {
    await setTime("2026-02-01T00:00:00+09:00");
    expect(await held()).toBe("10 = 2026-01:10");
  });

  test("February: grant 50, and its end", async () => {
    await grant("feb", 50n);
    expect(await held()).toBe("60 = 2026-01:10 2026-02:50");
    await setTime("2026-03-01T00:00:00+09:00");
    expect(await held()).toBe("60 = 2026-01:10 2026-02:50");
  });

  test("March: grant 40", async () => {
    await grant("mar", 40n);
    expect(await held()).toBe("100 = 2026-01:10 2026-02:50 2026-03:40");
    await setTime("2026-03-31T23:59:59.999+09:00");
    expect(await held()).toBe("100 = 2026-01:10 2026-02:50 2026-03:40");
  });

  test("end of March: the 10 of January expire, at once and without a sweep", async () => {
    await setTime("2026-04-01T00:00:00+09:00");
    expect(await held()).toBe("90 = 2026-02:50 2026-03:40");
    expect(await expiries()).toEqual(["2026-04-30T15:00:00.000Z", "2026-05-31T15:00:00.000Z"]);
  });

  test("April: grant 30", async () => {
    await setTime("2026-04-10T09:00:00+09:00");
    expect((await grant("apr", 30n)).availablePoints).toBe(120n);
    expect(await held()).toBe("120 = 2026-02:50 2026-03:40 2026-04:30");
  });

  test("April: use 80 takes 50 of February and 30 of March", async () => {
    const { entry, availablePoints: balance } = await server.points.usePoints({
      ...account,
      eventId: "use",
      points: 80n,
    });
    expect(balance).toBe(40n);
    const changes = entry?.monthChanges.map(({ month, points }) => `${month}:${points}`);
    expect(changes).toEqual(["2026-02:-50", "2026-03:-30"]);
    expect(await held()).toBe("40 = 2026-03:10 2026-04:30");
  });

  test("the ledger has the expiry ahead of April's grant, effective at the boundary", async () => {
    const newestFirst = await server.points.listLedgerEntries(account);
    const entries = newestFirst.entries.toReversed();
    expect(entries.map(lineOf)).toEqual([
      "1 ISSUED 10 (01:10) 10",
      "2 ISSUED 50 (02:50) 60",
      "3 ISSUED 40 (03:40) 100",
      "4 EXPIRED 10 (01:-10) 90",
      "5 ISSUED 30 (04:30) 120",
      "6 USED 80 (02:-50 03:-30) 40",
    ]);
    const expired = entries[3] as LedgerEntry;
    expect(isoOf(expired.effectiveTime)).toBe("2026-03-31T15:00:00.000Z");
    expect(isoOf(expired.createTime)).toBe("2026-04-10T00:00:00.000Z");
    expect(expired.event).toMatchObject({ origin: EventOrigin.EXPIRY, eventId: "2026-01" });
    expect([expired.caller, expired.reason]).toEqual([undefined, ""]);
  });

  test("several months at once are one entry each; the ledger equals the account", async () => {
    await setTime("2026-08-20T00:00:00+09:00");
    expect(await held()).toBe("0 =");
    await grant("aug", 1n);
    const { entries } = await server.points.listLedgerEntries({ ...account, pageSize: 3 });
    expect(
      entries.map(({ event, effectiveTime }) => [event?.eventId, isoOf(effectiveTime)]),
    ).toEqual([
      ["aug", "2026-08-19T15:00:00.000Z"],
      ["2026-04", "2026-06-30T15:00:00.000Z"],
      ["2026-03", "2026-05-31T15:00:00.000Z"],
    ]);
    const verified = await server.points.verifyAccount(account);
    expect([verified.differences, verified.entryCount]).toEqual([[], 9n]);
  });
});
