/** Tests that a lengthening of a live program applies only to points that have not expired. */
import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lineOf } from "../../../support/fixtures/ledger-lines.ts";
import { at, refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await setTime("2026-01-10T00:00:00Z");
  await server.programs.createProgram({
    ...{ programId, timeZone: "UTC" },
    bulkRules: { requiredApprovalCount: 0 },
  });
});
afterAll(() => server.stop());

const programId = "grows";

const setTime = (text: string) => server.clock.setTime({ time: at(text) });

const grant = (userId: string, eventId: string) =>
  server.points.grantPoints({ programId, userId, eventId, points: 10n });

async function held(userId: string): Promise<string[]> {
  const { balance } = await server.points.getBalance({ programId, userId });
  return (
    balance?.buckets.map(({ month, expireTime }) => {
      const expiry = expireTime ? timestampDate(expireTime).toISOString().slice(0, 10) : "";
      return `${month} until ${expiry}`;
    }) ?? []
  );
}

async function changes(): Promise<string[]> {
  const { program } = await server.programs.getProgram({ programId });
  const lines = program?.lifetimeChanges.map(({ lifetimeMonths, effectiveTime }) => {
    const since = effectiveTime ? timestampDate(effectiveTime).toISOString() : "";
    return `${lifetimeMonths} since ${since}`;
  });
  const { time } = await server.clock.getTime({});
  const started = program?.lifetimeChanges.filter(
    ({ effectiveTime }) => time && effectiveTime && timestampMs(effectiveTime) <= timestampMs(time),
  );
  return [`now ${started?.at(-1)?.lifetimeMonths}`, ...(lines ?? [])];
}

const lengthen = (lifetimeMonths: number) =>
  server.programs.updateProgram({ program: { programId, lifetimeMonths } });

test("12 months: points of January 2026 expire in January 2027", async () => {
  for (const userId of ["untouched", "touched", "late"]) await grant(userId, "jan");
  await setTime("2026-06-10T00:00:00Z");
  for (const userId of ["untouched", "touched"]) await grant(userId, "jun");
  expect(await held("touched")).toEqual(["2026-01 until 2027-01-01", "2026-06 until 2027-06-01"]);
  expect(await changes()).toEqual(["now 12", "12 since 2026-01-10T00:00:00.000Z"]);
});

test("24 months take effect after 18 minutes", async () => {
  await setTime("2027-01-10T00:00:00Z");
  const { program } = await lengthen(24);
  expect(program?.lifetimeMonths).toBe(24);
  expect((await changes())[0]).toBe("now 12");
  await setTime("2027-01-10T00:17:59.999Z");
  expect((await changes())[0]).toBe("now 12");
  await setTime("2027-01-10T00:18:00Z");
  expect(await held("touched")).toEqual(["2026-06 until 2028-06-01"]);
  expect(await held("untouched")).toEqual(["2026-06 until 2028-06-01"]);
  expect(await held("late")).toEqual([]);
  expect(await changes()).toEqual([
    "now 24",
    "12 since 2026-01-10T00:00:00.000Z",
    "24 since 2027-01-10T00:18:00.000Z",
  ]);
});

test("the same again changes nothing, a shorter one is refused", async () => {
  const before = await changes();
  await lengthen(24);
  expect(await changes()).toEqual(before);
  for (const shorter of [1, 12, 23]) {
    expect(await refusalOf(lengthen(shorter))).toMatchObject({
      code: "FailedPrecondition",
      reason: "WRONG_STATE",
      metadata: { lifetime_months: "24" },
    });
  }
  expect(await changes()).toEqual(before);
});

test("what had expired before a change stays expired, whenever its entry is written", async () => {
  await setTime("2027-07-10T00:00:00Z");
  await grant("late", "jul");
  const { entries } = await server.points.listLedgerEntries({ programId, userId: "late" });
  expect(entries.map(lineOf)).toEqual([
    "3 ISSUED 10 (07:10) 10",
    "2 EXPIRED 10 (01:-10) 0",
    "1 ISSUED 10 (01:10) 10",
  ]);
  const expired = entries[1]?.effectiveTime;
  expect(expired && timestampDate(expired).toISOString()).toBe("2027-01-01T00:00:00.000Z");
  await setTime("2028-06-01T00:00:00Z");
  expect(await held("untouched")).toEqual([]);
  await grant("untouched", "jun-28");
  for (const userId of ["untouched", "touched", "late"]) {
    const { differences } = await server.points.verifyAccount({ programId, userId });
    expect(differences).toEqual([]);
  }
});

test("the ledger keeps the expiry that was known at the grant", async () => {
  const key = { case: "event", value: { eventId: "jan" } } as const;
  const { entry } = await server.points.getLedgerEntry({ programId, userId: "late", key });
  const expiry = entry?.expireTime;
  expect(expiry && timestampDate(expiry).toISOString()).toBe("2027-01-01T00:00:00.000Z");
});
