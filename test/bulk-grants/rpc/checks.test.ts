/** Tests CheckSheet: over gRPC, and over HTTP/1.1 in JSON, as a script in a sheet does. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { completeCheck, sheet, submitLines } from "../../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { inlineRows, workbookOf } from "../../support/fixtures/workbooks.ts";
import { at, reasonOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
  await enforceRules(server.deps, "default", { maxPointsPerRow: 1_000, maxTotalPoints: 1_500 });
  await server.points.freezeAccount({ userId: "cold", eventId: "f" });
});
afterAll(() => server.stop());

const bulkGrantId = "b";

const check = async (csv: string | Uint8Array, id = bulkGrantId) => {
  const content = { case: "csv", value: Buffer.from(csv) } as const;
  return (await server.bulkGrants.checkSheet({ bulkGrantId: id, content })).check;
};

describe("a check", () => {
  test("of a workbook says which sheet was read, and how many formulas", async () => {
    const sheets = '<sheet name="付与" sheetId="1" r:id="rId1"/>';
    const formula = '<row><c t="str"><f>"f"&amp;1</f><v>f1</v></c><c><f>2+3</f><v>5</v></c></row>';
    const rows = inlineRows(["user_id", "points"]) + formula;
    const reading = (await check(workbookOf({ sheets, rows })))?.reading;
    expect(reading).toMatchObject({ sheetName: "付与", formulaCount: 2, encoding: "" });
    expect(reading?.text).toMatch(/^read as XLSX, sheet 付与: user_id, points; 2 formulas by the/);
  });

  test("of a workbook names the cells of what is wrong", async () => {
    const rows = inlineRows(["reason", "user_id", "points"], ["", "a b", "x"], ["", "cold", "5"]);
    const found = await check(workbookOf({ rows }));
    expect(found?.problems.map(({ line, code, message }) => [line, code, message])).toEqual([
      [2, "USER_MALFORMED", expect.stringMatching(/^B2: user_id: 1 to 128 visible/)],
      [2, "POINTS_MALFORMED", expect.stringMatching(/^C2: points: a whole number .*`x`$/)],
      [3, "ACCOUNT_FROZEN", "the account is frozen"],
    ]);
  });

  test("of good rows has no problems", async () => {
    expect(await check(sheet("u1,5,", "u2,7,thanks"))).toMatchObject({
      rowCount: 2,
      totalPoints: 12n,
      invalidCount: 0,
      problemCounts: [],
      problems: [],
      sameContentBulkGrantId: "",
    });
  });

  test("names every wrong row by its line, user and code, and writes nothing", async () => {
    const before = await dump(server);
    const found = await check(
      sheet("u1,5,", ",5,", "a b,5,", "u2,,", "u3,x,", "u4,1001,", "u1,5,", "cold,5,", "u5,1,2,3"),
    );
    expect(found).toMatchObject({ rowCount: 9, invalidCount: 8 });
    expect(found?.problems.map(({ line, userId, code }) => [line, userId, code])).toEqual([
      [3, "", "USER_MISSING"],
      [4, "a b", "USER_MALFORMED"],
      [5, "u2", "POINTS_MISSING"],
      [6, "u3", "POINTS_MALFORMED"],
      [7, "u4", "POINTS_ABOVE_CAP"],
      [8, "u1", "USER_TWICE"],
      [9, "cold", "ACCOUNT_FROZEN"],
      [10, "u5", "COLUMNS_DIFFER"],
    ]);
    expect(found?.problems[5]?.message).toContain("line 2");
    expect(await dump(server)).toEqual(before);
  });

  test("names all that is wrong with a row, also what the store says of it", async () => {
    const long = "x".repeat(129);
    const found = await check(sheet(`a b,x,${long}`, `cold,y,${long}`, "u1,5,", "cold,2000,"));
    expect(found).toMatchObject({ rowCount: 4, totalPoints: 5n, invalidCount: 3 });
    expect(found?.problems.map(({ line, code }) => [line, code])).toEqual([
      [2, "USER_MALFORMED"],
      [2, "POINTS_MALFORMED"],
      [2, "REASON_TOO_LONG"],
      [3, "POINTS_MALFORMED"],
      [3, "REASON_TOO_LONG"],
      [3, "ACCOUNT_FROZEN"],
      [5, "USER_TWICE"],
      [5, "POINTS_ABOVE_CAP"],
      [5, "ACCOUNT_FROZEN"],
    ]);
    const counts = found?.problemCounts.map(({ code, rowCount }) => [code, rowCount]);
    expect(Object.fromEntries(counts ?? [])).toEqual({
      ...{ USER_MALFORMED: 1, USER_TWICE: 1, ACCOUNT_FROZEN: 2 },
      ...{ POINTS_MALFORMED: 2, POINTS_ABOVE_CAP: 1, REASON_TOO_LONG: 2 },
    });
  });

  test("says how the sheet was understood, and reads it in the named encoding", async () => {
    const csv = Buffer.from("user_id,points,reason\nu1,5,caf\xe9\nu2,0,\n", "latin1");
    const content = { case: "csv" as const, value: csv };
    const options = { encoding: "windows-1252", skipZero: true };
    const { bulkGrants } = server;
    const name = { bulkGrantId: "summer" };
    const { check: found } = await bulkGrants.checkSheet({ ...name, content, ...options });
    expect(found?.problems).toEqual([]);
    expect(found?.reading).toMatchObject({
      encoding: "windows-1252",
      separator: ",",
      skippedZeroCount: 1,
      sample: { line: 2, userId: "u1", points: 5n, reason: "café" },
      text:
        "read as CSV in Windows-1252 with commas: user_id, points, reason; " +
        "1 row of 0 points left out; line 2: 5 points to u1 for ‘café’",
    });
    const rows = { case: "rows" as const, value: { rows: [{ userId: "u1", points: 1n }] } };
    await expect(bulkGrants.checkSheet({ ...name, content: rows, ...options })).rejects.toThrow(
      "encoding: is only for a sheet",
    );
  });

  test("counts all problems and names the first thousand", async () => {
    const wrong = Array.from({ length: 1_300 }, (_, i) => `u${i},x,`);
    const found = await check(sheet(...wrong));
    expect(found).toMatchObject({
      invalidCount: 1_300,
      problemCounts: [{ code: "POINTS_MALFORMED", rowCount: 1_300 }],
    });
    expect(found?.problems.map(({ line }) => line)).toEqual(
      Array.from({ length: 1_000 }, (_, i) => i + 2),
    );
  });

  test("has one problem for a sum above the program's cap", async () => {
    const found = await check(sheet("u1,1000,", "u2,501,"));
    expect(found?.problems).toMatchObject([{ line: 0, userId: "", code: "TOTAL_ABOVE_CAP" }]);
    expect(found?.invalidCount).toBe(0);
  });

  test.each([
    ["", "EMPTY", 1],
    [sheet("u1,5,\0"), "NUL_BYTE", 2],
  ])("of a sheet that cannot be read is one problem: %j", async (csv, code, line) => {
    const found = await check(csv);
    expect(found?.problems).toMatchObject([{ line, userId: "", code }]);
    expect(found?.problemCounts).toMatchObject([{ code, rowCount: 1 }]);
  });

  test("says all that is wrong with the first line, and checks the rows, too", async () => {
    const csv = "user_id,name,reason\nu1,x,\na b,x,\ncold,x,\n";
    const found = await check(csv);
    expect(found).toMatchObject({ rowCount: 3, invalidCount: 2, totalPoints: 0n });
    expect(found?.problems).toMatchObject([
      { line: 1, code: "COLUMN_UNKNOWN", message: "line 1: column 2 is not known: found `name`" },
      { line: 1, code: "COLUMN_MISSING", message: "line 1: the column points is missing" },
      { line: 3, userId: "a b", code: "USER_MALFORMED" },
      { line: 4, userId: "cold", code: "ACCOUNT_FROZEN" },
    ]);
    const unknown = await check("user_id,points,name\ncold,5,x\n");
    expect(unknown?.problems).toMatchObject([
      { line: 1, code: "COLUMN_UNKNOWN" },
      { line: 2, userId: "cold", code: "ACCOUNT_FROZEN" },
    ]);
  });

  test("takes blanks around user ids away, and counts them", async () => {
    const found = await check(sheet(" u1,5,", "u2\u3000,5,", "u3,5,", "u1 ,5,"));
    expect(found).toMatchObject({ trimmedUserIdCount: 3, invalidCount: 1 });
    expect(found?.problems).toMatchObject([{ line: 5, userId: "u1", code: "USER_TWICE" }]);
  });

  test("of rows of the same content names the other bulk grant", async () => {
    await submitLines(server, { bulkGrantId: "first" }, "s1,5,", "s2,7,");
    await completeCheck(server, "first");
    expect((await check(sheet("s1,5,", "s2,7,")))?.sameContentBulkGrantId).toBe("first");
    expect((await check(sheet("s1,5,", "s2,7,"), "first"))?.sameContentBulkGrantId).toBe("");
  });

  test("of an unknown program is refused", async () => {
    const content = { case: "csv", value: Buffer.from(sheet("u,1,")) } as const;
    const call = server.bulkGrants.checkSheet({ programId: "none", bulkGrantId, content });
    expect(await reasonOf(call)).toBe("PROGRAM_NOT_FOUND");
  });
});

/** Calls a method as a script does: JSON over HTTP/1.1. */
async function post(body: unknown, method = "CheckSheet") {
  const url = `http://127.0.0.1:${server.http1Port}/${BulkGrantService.typeName}/${method}`;
  // The server closes a connection when it has answered before the end of a request.
  const connection = "close";
  const headers = { "content-type": "application/json", "meguri-caller": "script", connection };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
}

describe("over HTTP/1.1 in JSON", () => {
  test("rows are checked", async () => {
    const rows = [
      { userId: "u1", points: 5 },
      { userId: "u1", points: "6", reason: "r" },
      { userId: "u2", points: -1 },
    ];
    const { status, answer } = await post({ bulkGrantId, rows: { rows } });
    expect([status, answer.check]).toMatchObject([
      200,
      {
        rowCount: 3,
        totalPoints: "5",
        problems: [
          { line: 3, userId: "u1", code: "USER_TWICE" },
          { line: 4, userId: "u2", code: "POINTS_MALFORMED" },
        ],
      },
    ]);
  });

  test("a sheet of more than a megabyte is accepted, as base64", async () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => `u${i},x,${"r".repeat(128)}`);
    const csv = Buffer.from(sheet(...lines)).toString("base64");
    const { status, answer } = await post({ bulkGrantId, csv });
    expect([status, answer.check]).toMatchObject([200, { rowCount: 10_000, invalidCount: 10_000 }]);
  });

  test("more than 2 MiB are refused, and other services take no more than before", async () => {
    const csv = Buffer.alloc(2 * 2 ** 20).toString("base64");
    expect((await post({ bulkGrantId, csv })).answer.message).toMatch("at most 2162688 bytes");
    const url = `http://127.0.0.1:${server.http1Port}/meguri.points.v1.PointsService/GetBalance`;
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "meguri-caller": "script" },
      body: JSON.stringify({ userId: "u".repeat(70_000) }),
    });
    const { message } = (await response.json()) as { message: string };
    expect(message).toMatch("at most 65536 bytes");
  });

  test("a request without rows names the field", async () => {
    const { status, answer } = await post({ bulkGrantId });
    expect([status, answer.code]).toEqual([400, "invalid_argument"]);
  });
});
