/** Tests the warnings of sheets in CheckSheet and in summaries, and the rules that refuse them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BulkGrant_State as State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  completeCheck,
  completeRun,
  sheet,
  submitLines,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { cafeLines, spoilings } from "../../support/fixtures/cafe-twin.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  for (const programId of ["cafe", "strict"]) {
    await server.programs.createProgram({ programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  }
  await enforceRules(server.deps, "default", { requiredApprovalCount: 0 });
  await enforceRules(server.deps, "cafe", { requiredApprovalCount: 0 });
  await enforceRules(server.deps, "strict", {
    requiredApprovalCount: 0,
    userIdPattern: "0[0-9]{9,10}",
    refusedWarnings: ["LAST_ROW_IS_SUM", "POINTS_ZERO"],
  });
});
afterAll(() => server.stop());

async function check(programId: string, lines: readonly string[]) {
  const content = { case: "csv", value: Buffer.from(sheet(...lines)) } as const;
  const name = { programId, bulkGrantId: "check" };
  return (await server.bulkGrants.checkSheet({ ...name, content })).check;
}

/** Submits and validates rows. Returns the bulk grant, and its summary. */
async function summaryOf(programId: string, bulkGrantId: string, lines: readonly string[]) {
  const name = { programId, bulkGrantId };
  await submitLines(server, name, ...lines);
  const bulkGrant = await completeCheck(server, bulkGrantId, programId);
  return { bulkGrant, ...(await server.bulkGrants.getBulkGrantSummary(name)) };
}

describe("a café's members with their opening balances", () => {
  test("are warned of only as a spreadsheet program has spoiled them", async () => {
    for (const [spoiling, idOf] of Object.entries(spoilings)) {
      const lines = cafeLines(idOf);
      const found = await check("cafe", lines);
      const counts = found?.sheetWarnings.map(({ rowCount, firstLines }) => [rowCount, firstLines]);
      expect(counts).toEqual([[635, [2, 3, 4, 5, 6]]]);
      const { summary, warnings } = await summaryOf("cafe", spoiling.replace(" ", "-"), lines);
      expect(summary?.sheetWarnings).toEqual(found?.sheetWarnings);
      expect(warnings).toEqual(found?.sheetWarnings.map(({ text }) => text));
    }
    expect((await check("cafe", cafeLines()))?.sheetWarnings).toEqual([]);
    const { summary, warnings, bulkGrant } = await summaryOf("cafe", "right", cafeLines());
    expect([summary?.sheetWarnings, warnings, bulkGrant.state]).toEqual([[], [], State.APPROVED]);
  });

  test("once they have accounts, sheets are compared with these", async () => {
    await completeRun(server, "right", "cafe");
    expect((await check("cafe", cafeLines()))?.sheetWarnings).toEqual([]);
    // A single id that has lost its zero.
    const [first = "", ...others] = cafeLines().slice(0, 9);
    const found = await check("cafe", [first.slice(1), ...others]);
    expect(found?.sheetWarnings).toMatchObject([
      {
        code: "LEADING_ZEROS_LOST",
        rowCount: 1,
        text:
          "LEADING_ZEROS_LOST: 1 user id seems to have lost leading zeros, such as " +
          `${first.slice(1, 11)}; line 2`,
      },
      {
        code: "WITHOUT_ACCOUNT",
        text: "WITHOUT_ACCOUNT: 1 of 9 users has no account, though the program has many; line 2",
        stressed: false,
      },
    ]);
    const fifth = ["a,1,", "b,2,", ...cafeLines().slice(0, 8)];
    expect((await check("cafe", fifth))?.sheetWarnings).toMatchObject([{ stressed: false }]);
    const more = ["a,1,", "b,2,", ...cafeLines().slice(0, 7)];
    expect((await check("cafe", more))?.sheetWarnings).toMatchObject([
      { code: "WITHOUT_ACCOUNT", rowCount: 2, firstLines: [2, 3], stressed: true },
    ]);
  });
});

describe("rules of a program", () => {
  test("refuse ids that their pattern does not match as a whole", async () => {
    const found = await check("strict", ["09012345678,1,", "9012345678,2,", "u0821541000,3,"]);
    const message =
      "user_id: 1 to 128 visible ASCII characters without #; found `9012345678`, and the program " +
      "demands 0[0-9]{9,10}";
    expect(found?.problems).toMatchObject([
      { line: 3, code: "USER_MALFORMED", message },
      { line: 4, code: "USER_MALFORMED" },
    ]);
    const { bulkGrant } = await summaryOf("strict", "ids", ["09012345678,1,", "9012345678,2,"]);
    expect(bulkGrant).toMatchObject({ state: State.INVALID, invalidCount: 1 });
    const rows = [{ userId: "9012345678", points: 1n }];
    const content = { case: "rows", value: { rows } } as const;
    const name = { programId: "strict", bulkGrantId: "check" };
    const messages = await server.bulkGrants.checkSheet({ ...name, content });
    expect(messages.check?.problems).toMatchObject([{ code: "USER_MALFORMED" }]);
  });

  const summed = [1, 2, 3, 4, 5, 15].map((points, i) => `0901234567${i},${points},`);

  test("refuse a warning, and the revision is INVALID and says why", async () => {
    const found = await check("strict", summed);
    const text = "LAST_ROW_IS_SUM: the last row has the sum of all others, 15 points; line 7";
    expect(found).toMatchObject({
      invalidCount: 0,
      sheetWarnings: [{ code: "LAST_ROW_IS_SUM", rowCount: 1, firstLines: [7], text }],
      problemCounts: [{ code: "WARNING_REFUSED", rowCount: 1 }],
      problems: [
        {
          line: 0,
          code: "WARNING_REFUSED",
          message: `the program refuses this warning: ${text}`,
        },
      ],
    });
    const { bulkGrant, summary } = await summaryOf("strict", "sum", summed);
    expect(bulkGrant).toMatchObject({ state: State.INVALID, invalidCount: 0 });
    expect(bulkGrant.details[0]).toBe(`The program refuses this warning: ${text}.`);
    expect(summary?.sheetWarnings).toEqual(found?.sheetWarnings);
    // A corrected sheet is the next revision, and nothing refuses it.
    const { bulkGrant: next } = await summaryOf("strict", "sum", summed.slice(0, -1));
    expect(next).toMatchObject({ state: State.APPROVED, revision: 2 });
    expect(next.details).toEqual(["Approved, and about to start."]);
  });

  test("are those of the program: another one only warns", async () => {
    const { bulkGrant, summary } = await summaryOf("default", "sum", summed);
    expect(summary?.sheetWarnings).toMatchObject([{ code: "LAST_ROW_IS_SUM" }]);
    expect(bulkGrant.state).toBe(State.APPROVED);
  });
});

test("a reversal is not warned of: its rows come from what was granted", async () => {
  const name = { bulkGrantId: "odd" };
  await submitLines(server, name, ...Array.from({ length: 11 }, (_, i) => `o${i},100,`), "x,9000,");
  await completeCheck(server, "odd");
  const { summary } = await server.bulkGrants.getBulkGrantSummary(name);
  expect(summary?.sheetWarnings).toMatchObject([{ code: "FAR_MORE_POINTS", firstLines: [13] }]);
  await completeRun(server, "odd");
  const reversal = { bulkGrantId: "odd-back", reversedBulkGrantId: "odd" };
  await server.bulkGrants.reverseBulkGrant(reversal);
  await completeCheck(server, "odd-back");
  const back = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId: "odd-back" });
  expect(back.summary).toMatchObject({ rowCount: 12, sheetWarnings: [] });
});
