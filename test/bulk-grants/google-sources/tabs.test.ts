/** The tabs of a spreadsheet, read and written, against Google's REST API on loopback. */
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDriveSource } from "../../../src/bulk-grants/google-sources/drive.ts";
import type { FailedRow } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { Source } from "../../../src/bulk-grants/sources/source.ts";
import { failedRowsSheet } from "../../../src/bulk-grants/use-cases/write-sheet.ts";
import { type GoogleServer, startGoogleServer } from "../../support/servers/google-server.ts";
import type { Cell } from "../../support/servers/google-spreadsheet.ts";

let google: GoogleServer;
let source: Source;
let spreadsheet: ReturnType<GoogleServer["addSpreadsheet"]>;

beforeEach(async () => {
  google = await startGoogleServer();
  const folderId = google.drive.addFolder("campaigns");
  const { keyFile: key_file, endpoint } = google;
  source = createDriveSource({ folder_id: folderId, key_file, endpoint });
  spreadsheet = google.addSpreadsheet({ name: "Campaign", folderId });
});
afterEach(() => google.close());

/** Adds a tab, which becomes the first one. */
const addTab = (title: string, rows: readonly (readonly Cell[])[]) => {
  spreadsheet.addTab(title, rows);
  spreadsheet.moveFirst(title);
};
const read = async () => text((await source.open({ path: "Campaign" })).csv);

describe("a tab is read as CSV", () => {
  test("with texts and numbers, however the numbers are shown", async () => {
    addTab("Spring", [
      ["user_id", "points", "reason"],
      ["aoi", { value: 1000, shown: "1,000" }, "春のキャンペーン"],
      ["007", "20", 'a "good", long one'],
      [42, 0.5, true],
    ]);
    expect(await read()).toBe(
      "user_id,points,reason\n" +
        "aoi,1000,春のキャンペーン\n" +
        '007,20,"a ""good"", long one"\n' +
        "42,0.5,TRUE\n",
    );
  });

  test("with the empty cells at the end of a row, and with empty rows", async () => {
    addTab("Spring", [
      ["user_id", "points", "reason"],
      ["aoi", 100],
      [],
      ["", "", ""],
      ["ben", 5, "x", "too much"],
      [],
    ]);
    expect(await read()).toBe("user_id,points,reason\naoi,100,\n\n\nben,5,x,too much\n");
  });

  test("with one line for each row, so that line numbers are row numbers", async () => {
    addTab("Spring", [
      ["user_id", "points", "reason"],
      ["aoi", 100, "two \n lines"],
    ]);
    expect(await read()).toBe("user_id,points,reason\naoi,100,two lines\n");
  });

  test("with rounded numbers made malformed, because they name another user", async () => {
    addTab("Spring", [
      ["user_id", "points"],
      [999_999_999_999_999, 1],
      [1_234_567_890_123_456_800, 1],
    ]);
    const [, exact, rounded] = (await read()).split("\n");
    expect(exact).toBe("999999999999999,1");
    expect(rounded).toMatch(/^\d+ \(rounded\),1$/);
  });

  test.each(["It's 'spring' / 春!", "A1", "..", "a&b=c?#%41"])("by the title %s", async (title) => {
    addTab("other", [["no"]]);
    addTab(title, [["user_id", "points"]]);
    expect(await read()).toBe("user_id,points\n");
  });

  test("of more than 26 columns and 1,000 rows, in one request", async () => {
    const header = Array.from({ length: 30 }, (_, i) => `column-${i}`);
    const rows = Array.from({ length: 12_000 }, (_, i) => [`user-${i}`, i + 1]);
    addTab("Spring", [header, ...rows]);
    const lines = (await read()).split("\n");
    expect(lines).toHaveLength(12_002);
    expect(lines[0]).toBe(header.join(","));
    expect(lines[12_000]).toBe(`user-11999,12000${",".repeat(28)}`);
    expect(google.requests.filter((line) => line.includes("/values/"))).toHaveLength(1);
  });
});

describe("failed rows are written to a new tab", () => {
  const of = { bulkGrantId: "spring-26", revision: { number: 2 } };
  const title = "failed spring-26 r2";
  const header = [
    ...["user_id", "points", "reason", "bulk_grant_id"],
    ...["revision", "line", "error_code", "error"],
  ];
  const failed = (line: number, userId: string): FailedRow => ({
    row: { line, userId, points: 100, reason: "" },
    problems: [{ code: "ACCOUNT_FROZEN" }],
  });
  test("of a long id, under a title that Google takes", async () => {
    const long = { ...of, bulkGrantId: "b".repeat(128) };
    const sheet = failedRowsSheet(each([failed(2, "007")]), long, []);
    const { name } = await source.writeErrors({ path: "Campaign" }, sheet);
    expect(name).toMatch(/failed b{73}-[0-9a-f]{12}$/);
  });

  async function* each(rows: readonly FailedRow[]) {
    yield* rows;
  }
  const write = async (rows: readonly FailedRow[]) =>
    source.writeErrors({ path: "Campaign" }, failedRowsSheet(each(rows), of, []));

  test("as they were, with their errors, and without running a formula", async () => {
    const place = await write([
      failed(2, "007"),
      {
        row: { line: 5, userId: "=IMPORTXML(1)", points: 0, reason: "+1", rawPoints: "=1+1" },
        problems: [{ code: "POINTS_MALFORMED" }, { code: "ACCOUNT_FROZEN" }],
      },
    ]);
    const name = ["spring-26", 2];
    expect(spreadsheet.rowsOf(title)).toEqual([
      header,
      ["007", 100, "", ...name, 2, "ACCOUNT_FROZEN", "the account is frozen"],
      [
        ...["=IMPORTXML(1)", "=1+1", "+1", ...name, 5],
        "POINTS_MALFORMED, ACCOUNT_FROZEN",
        "points: a whole number of 1 to 1000000000; the account is frozen",
      ],
    ]);
    expect(spreadsheet.titles).toEqual(["Sheet1", title]);
    expect(place).toEqual({
      name: `Campaign/${title}`,
      url: `https://docs.google.com/spreadsheets/d/${spreadsheet.id}/edit#gid=1`,
    });
  });

  test("in several requests, which can be read again as a sheet", async () => {
    await write(Array.from({ length: 12_000 }, (_, i) => failed(i + 2, `user-${i}`)));
    const rows = spreadsheet.rowsOf(title);
    expect(rows).toHaveLength(12_001);
    expect(rows?.[12_000]?.slice(0, 2)).toEqual(["user-11999", 100]);
    spreadsheet.moveFirst(title);
    expect((await read()).split("\n")[1]).toBe(
      "user-0,100,,spring-26,2,2,ACCOUNT_FROZEN,the account is frozen",
    );
  });

  test("which replaces an older one of the same title", async () => {
    await write([failed(2, "aoi"), failed(3, "ben")]);
    await write([failed(3, "ben")]);
    expect(spreadsheet.titles).toEqual(["Sheet1", title]);
    expect(spreadsheet.rowsOf(title)?.map(([userId]) => userId)).toEqual(["user_id", "ben"]);
  });

  test("also when Google fails half way and the call is repeated", async () => {
    const rows = Array.from({ length: 6_000 }, (_, i) => failed(i + 2, `user-${i}`));
    google.failNext({ line: /^PUT/, status: 400 });
    await expect(write(rows)).rejects.toThrow("Google: failed");
    google.failNext({ line: /^PUT/, status: 503, isExecuted: true });
    google.failNext({ line: /:batchUpdate$/, status: 429 });
    await write(rows);
    expect(spreadsheet.rowsOf(title)).toHaveLength(6_001);
    expect(spreadsheet.titles).toEqual(["Sheet1", title]);
  });

  test("and not to the tab of a later repetition", async () => {
    const rows = Array.from({ length: 6_000 }, (_, i) => failed(i + 2, `user-${i}`));
    let repetition: Promise<unknown> | undefined;
    google.beforeNext(/^PUT/, () => {
      repetition = write(rows.slice(0, 10));
    });
    await write(rows).catch(() => undefined);
    await repetition;
    expect(spreadsheet.rowsOf(title)?.map((row) => row[0])).toEqual([
      "user_id",
      ...rows.slice(0, 10).map(({ row }) => row.userId),
    ]);
  });
});
