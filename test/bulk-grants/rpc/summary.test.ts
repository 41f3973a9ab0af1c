/** Tests what approvers read of a revision: its summary, with overlaps with real campaigns. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BulkGrant_State as State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  completeCheck,
  completeRun,
  submitLines,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { at } from "../../support/servers/refusal.ts";
import {
  type Clients,
  type MemoryServer,
  startMemoryServer,
} from "../../support/servers/server.ts";

let server: MemoryServer;
let ann: Clients;
let ben: Clients;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
  [ann, ben] = [server.clientsOf("ann"), server.clientsOf("ben")];
});
afterAll(() => server.stop());

async function titled(bulkGrantId: string, title: string): Promise<readonly string[]> {
  await submitLines(ann, { bulkGrantId, title }, `${bulkGrantId},1,`);
  await completeCheck(server, bulkGrantId);
  const { summary } = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId });
  return summary?.lookAlikeBulkGrantIds ?? [];
}

async function awaiting(bulkGrantId: string, ...lines: string[]): Promise<string> {
  await submitLines(ann, { bulkGrantId }, ...lines);
  return (await completeCheck(server, bulkGrantId)).digest;
}

async function granted(bulkGrantId: string, ...lines: string[]): Promise<void> {
  const digest = await awaiting(bulkGrantId, ...lines);
  await ben.bulkGrants.approveBulkGrant({ bulkGrantId, digest });
  await completeRun(server, bulkGrantId);
}

const lines = Array.from({ length: 9 }, (_, i) => `u${i},100,`);

test("a summary warns of a campaign that has granted the same, and of one that waits", async () => {
  await granted("spring-1", ...lines);
  await awaiting("spring-2", ...lines.slice(0, 2), "u3,70,");
  await server.clock.setTime({ time: at("2027-01-04T00:00:00Z") });
  await server.points.freezeAccount({ userId: "u0", eventId: "freeze" });
  await awaiting("summer", ...lines.slice(0, 8), "u8,50,thanks", "u9,7,thanks");
  const { summary } = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId: "summer" });
  expect(summary).toMatchObject({
    revision: 1,
    rowCount: 10,
    reading: { encoding: "utf-8", separator: ",", sample: { line: 2, userId: "u0", points: 100n } },
    minPoints: 7n,
    medianPoints: 100n,
    maxPoints: 100n,
    reasons: [
      { reason: "", rowCount: 8, points: 800n, variantCount: 1 },
      { reason: "thanks", rowCount: 2, points: 57n, variantCount: 1 },
    ],
    histogram: [
      { minPoints: 5n, maxPoints: 9n, rowCount: 1 },
      { minPoints: 50n, maxPoints: 99n, rowCount: 1 },
      { minPoints: 100n, maxPoints: 199n, rowCount: 8 },
    ],
    withoutAccountCount: 1,
    frozenCount: 1,
    expireTime: at("2027-12-31T15:00:00Z"),
    comparedCount: 2,
    overlaps: [
      {
        bulkGrantId: "spring-1",
        state: State.DONE,
        sameUserCount: 9,
        samePointsCount: 8,
        warned: true,
      },
      {
        bulkGrantId: "spring-2",
        state: State.AWAITING_APPROVAL,
        sameUserCount: 3,
        samePointsCount: 2,
        warned: true,
      },
    ],
  });
  expect(summary).not.toHaveProperty("otherReasons");
  expect(summary).not.toHaveProperty("difference");
  expect(summary?.largestRows).toHaveLength(10);
  expect(summary?.largestRows.at(-1)).toMatchObject({ userId: "u9", points: 7n });
});

test("a summary says what a next revision changes, and has the earlier one", async () => {
  const bulkGrantId = "corrected";
  await awaiting(bulkGrantId, "v1,10,", "v2,10,", "v3,10,");
  await ben.bulkGrants.rejectBulkGrant({ bulkGrantId });
  await awaiting(bulkGrantId, "v1,10,", "v2,11,", "v4,10,", "v5,10,");
  const { summary } = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId });
  expect(summary).toMatchObject({
    revision: 2,
    difference: {
      addedCount: 2,
      removedCount: 1,
      changedCount: 1,
      previousRowCount: 3,
      previousPoints: 30n,
    },
  });
  const first = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId, revision: 1 });
  expect(first.summary).toMatchObject({ revision: 1, rowCount: 3 });
});

test("reasons that differ only in their numbers are one line of the summary", async () => {
  const days = Array.from({ length: 31 }, (_, i) => `d${i},10,誕生日 ${i + 1}`);
  await awaiting("birthdays", ...days, "w1,500,ようこそ #1");
  const { summary, lines } = await server.bulkGrants.getBulkGrantSummary({
    bulkGrantId: "birthdays",
  });
  expect(summary?.reasons).toMatchObject([
    { reason: "ようこそ #1", rowCount: 1, points: 500n, variantCount: 1 },
    { reason: "誕生日 #", rowCount: 31, points: 310n, variantCount: 31 },
  ]);
  expect(lines.filter(({ name }) => name === "reason").map(({ text }) => text)).toEqual([
    "ようこそ #1: 1 row, 500 points",
    "誕生日 # (31 reasons), 31 rows, 310 points",
  ]);
});

test("a summary warns of titles that look like its own, and are others", async () => {
  expect(await titled("tea-1", "Green Tea 10")).toEqual([]);
  expect(await titled("tea-2", "Green Tea 10")).toEqual([]);
  expect(await titled("tea-3", "green\u3000tea\u200b \uff11\uff10")).toEqual(["tea-2", "tea-1"]);
  expect(await titled("tea-4", "Green Tea 100")).toEqual([]);
  // Without a title the id is shown.
  expect(await titled("tea-5", "")).toEqual([]);
  expect(await titled("tea-6", "T\u00adEA-5")).toEqual(["tea-5"]);
  const name = { bulkGrantId: "tea-6" };
  await ann.bulkGrants.cancelBulkGrant(name);
  expect(await titled("tea-7", "TEA-5")).toEqual(["tea-5"]);
});

test("a summary of a reversal has the warning, too", async () => {
  await granted("cake", "c1,5,");
  const reversal = { bulkGrantId: "cake-back", reversedBulkGrantId: "cake", title: "C\u200bake" };
  await ann.bulkGrants.reverseBulkGrant(reversal);
  await completeCheck(server, "cake-back");
  const { summary } = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId: "cake-back" });
  expect(summary).toMatchObject({ comparedCount: 0, lookAlikeBulkGrantIds: ["cake"] });
});
