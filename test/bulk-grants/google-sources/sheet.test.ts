/** A spreadsheet as a source of rows, against Google's REST API on loopback. */
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSheetSource } from "../../../src/bulk-grants/google-sources/sheet.ts";
import type { FailedRow } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { Source } from "../../../src/bulk-grants/sources/source.ts";
import { failedRowsSheet } from "../../../src/bulk-grants/use-cases/write-sheet.ts";
import { type GoogleServer, startGoogleServer } from "../../support/servers/google-server.ts";

let google: GoogleServer;
let source: Source;

beforeEach(async () => {
  google = await startGoogleServer();
  source = createSheetSource({
    spreadsheet_id: "spreadsheet-1",
    key_file: google.keyFile,
    endpoint: google.endpoint,
  });
});
afterEach(() => google.close());

const read = async (path: string) => text((await source.open({ path })).csv);
const refused = expect.objectContaining({ reason: "INVALID_REQUEST" });

describe("a tab is read as CSV", () => {
  test("with texts and numbers, however the numbers are shown", async () => {
    google.spreadsheet.addTab("Spring", [
      ["user_id", "points", "reason"],
      ["aoi", { value: 1000, shown: "1,000" }, "春のキャンペーン"],
      ["007", "20", 'a "good", long one'],
      [42, 0.5, true],
    ]);
    expect(await read("Spring")).toBe(
      "user_id,points,reason\n" +
        "aoi,1000,春のキャンペーン\n" +
        '007,20,"a ""good"", long one"\n' +
        "42,0.5,TRUE\n",
    );
  });

  test("unless it has more bytes than the reader takes", async () => {
    google.spreadsheet.addTab("Small", [
      ["user_id", "points"],
      ["a", 1],
    ]);
    google.spreadsheet.addTab("Large", [
      ["user_id", "points"],
      ["a".repeat(1_000), 1],
    ]);
    const { keyFile: key_file, endpoint } = google;
    const small = createSheetSource({ spreadsheet_id: "spreadsheet-1", key_file, endpoint }, 1_000);
    expect(await text((await small.open({ path: "Small" })).csv)).toBe("user_id,points\na,1\n");
    await expect(small.open({ path: "Large" })).rejects.toMatchObject({
      reason: "LIMIT_EXCEEDED",
      message: expect.stringContaining("start the workflow bulkGrantFromSource"),
      metadata: { limit: "1000" },
    });
    expect(await read("Large")).toContain("aaa");
  });

  test("with the empty cells at the end of a row, and with empty rows", async () => {
    google.spreadsheet.addTab("Spring", [
      ["user_id", "points", "reason"],
      ["aoi", 100],
      [],
      ["", "", ""],
      ["ben", 5, "x", "too much"],
      [],
    ]);
    expect(await read("Spring")).toBe("user_id,points,reason\naoi,100,\n\n\nben,5,x,too much\n");
  });

  test("with one line for each row, so that line numbers are row numbers", async () => {
    google.spreadsheet.addTab("Spring", [
      ["user_id", "points", "reason"],
      ["aoi", 100, "two \n lines"],
    ]);
    expect(await read("Spring")).toBe("user_id,points,reason\naoi,100,two lines\n");
  });

  test("with rounded numbers made malformed, because they name another user", async () => {
    google.spreadsheet.addTab("Spring", [
      ["user_id", "points"],
      [999_999_999_999_999, 1],
      [1_234_567_890_123_456_800, 1],
    ]);
    const [, exact, rounded] = (await read("Spring")).split("\n");
    expect(exact).toBe("999999999999999,1");
    expect(rounded).toMatch(/^\d+ \(rounded\),1$/);
  });

  test.each(["It's 'spring' / 春!", "A1", "..", "a&b=c?#%41"])("by the title %s", async (title) => {
    google.spreadsheet.addTab("other", [["no"]]);
    google.spreadsheet.addTab(title, [["user_id", "points"]]);
    expect(await read(title)).toBe("user_id,points\n");
  });

  test("of more than 26 columns and 1,000 rows, in one request", async () => {
    const header = Array.from({ length: 30 }, (_, i) => `column-${i}`);
    const rows = Array.from({ length: 12_000 }, (_, i) => [`user-${i}`, i + 1]);
    google.spreadsheet.addTab("Spring", [header, ...rows]);
    const lines = (await read("Spring")).split("\n");
    expect(lines).toHaveLength(12_002);
    expect(lines[0]).toBe(header.join(","));
    expect(lines[12_000]).toBe(`user-11999,12000${",".repeat(28)}`);
    expect(google.requests.filter((line) => line.includes("/values/"))).toHaveLength(1);
  });

  test("without any row when it is empty", async () => {
    google.spreadsheet.addTab("Spring", []);
    expect(await read("Spring")).toBe("");
  });

  test("to one row above the limit, which shows that there are too many", async () => {
    const row = ["aoi", 1];
    google.spreadsheet.addTab("Spring", Array<(string | number)[]>(200_100).fill(row));
    expect((await read("Spring")).split("\n")).toHaveLength(200_003);
  });
});

test("a tab that does not exist cannot be opened", async () => {
  google.spreadsheet.addTab("Spring", [["user_id", "points"]]);
  await expect(source.open({ path: "spring" })).rejects.toEqual(refused);
});

test("a tab with another version is refused at its end", async () => {
  google.spreadsheet.addTab("Spring", [["user_id", "points"]]);
  const { csv } = await source.open({ path: "Spring", version: "0123456789ab" });
  await expect(text(csv)).rejects.toEqual(refused);
});

test("tabs are not picked up and not moved", async () => {
  google.spreadsheet.addTab("Spring", [["user_id", "points"]]);
  expect(await source.listNew()).toEqual({ items: [] });
  await source.move({ path: "Spring" }, "done");
  expect(google.spreadsheet.titles).toEqual(["Spring"]);
});

test("people find a tab at its address in the spreadsheet", async () => {
  for (const title of ["Spring", "Summer"]) google.spreadsheet.addTab(title, []);
  const { url } = await source.open({ path: "Summer" });
  expect(url).toBe("https://docs.google.com/spreadsheets/d/spreadsheet-1/edit#gid=1");
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
    google.spreadsheet.addTab("Spring", []);
    const long = { ...of, bulkGrantId: "b".repeat(128) };
    const sheet = failedRowsSheet(each([failed(2, "007")]), long);
    const { name } = await source.writeErrors({ path: "Spring" }, sheet);
    expect(name).toMatch(/failed b{73}-[0-9a-f]{12}$/);
  });

  async function* each(rows: readonly FailedRow[]) {
    yield* rows;
  }
  const write = async (rows: readonly FailedRow[]) =>
    source.writeErrors({ path: "Spring" }, failedRowsSheet(each(rows), of));

  test("as they were, with their errors, and without running a formula", async () => {
    google.spreadsheet.addTab("Spring", []);
    const place = await write([
      failed(2, "007"),
      {
        row: { line: 5, userId: "=IMPORTXML(1)", points: 0, reason: "+1", rawPoints: "=1+1" },
        problems: [{ code: "POINTS_MALFORMED" }, { code: "ACCOUNT_FROZEN" }],
      },
    ]);
    const name = ["spring-26", 2];
    expect(google.spreadsheet.rowsOf(title)).toEqual([
      header,
      ["007", 100, "", ...name, 2, "ACCOUNT_FROZEN", "the account is frozen"],
      [
        ...["=IMPORTXML(1)", "=1+1", "+1", ...name, 5],
        "POINTS_MALFORMED, ACCOUNT_FROZEN",
        "points: a whole number of 1 to 1000000000; the account is frozen",
      ],
    ]);
    expect(google.spreadsheet.titles).toEqual(["Spring", title]);
    expect(place).toEqual({
      name: title,
      url: "https://docs.google.com/spreadsheets/d/spreadsheet-1/edit#gid=1",
    });
  });

  test("in several requests, which can be read again as a sheet", async () => {
    await write(Array.from({ length: 12_000 }, (_, i) => failed(i + 2, `user-${i}`)));
    const rows = google.spreadsheet.rowsOf(title);
    expect(rows).toHaveLength(12_001);
    expect(rows?.[12_000]?.slice(0, 2)).toEqual(["user-11999", 100]);
    expect((await read(title)).split("\n")[1]).toBe(
      "user-0,100,,spring-26,2,2,ACCOUNT_FROZEN,the account is frozen",
    );
  });

  test("which replaces an older one of the same title", async () => {
    await write([failed(2, "aoi"), failed(3, "ben")]);
    await write([failed(3, "ben")]);
    expect(google.spreadsheet.titles).toEqual([title]);
    expect(google.spreadsheet.rowsOf(title)?.map(([userId]) => userId)).toEqual(["user_id", "ben"]);
  });

  test("also when Google fails half way and the call is repeated", async () => {
    const rows = Array.from({ length: 6_000 }, (_, i) => failed(i + 2, `user-${i}`));
    google.failNext({ line: /^PUT/, status: 400 });
    await expect(write(rows)).rejects.toThrow("Google: failed");
    google.failNext({ line: /^PUT/, status: 503, isExecuted: true });
    google.failNext({ line: /:batchUpdate$/, status: 429 });
    await write(rows);
    expect(google.spreadsheet.rowsOf(title)).toHaveLength(6_001);
    expect(google.spreadsheet.titles).toEqual([title]);
  });

  test("and not to the tab of a later repetition", async () => {
    const rows = Array.from({ length: 6_000 }, (_, i) => failed(i + 2, `user-${i}`));
    let repetition: Promise<unknown> | undefined;
    google.beforeNext(/^PUT/, () => {
      repetition = write(rows.slice(0, 10));
    });
    await write(rows).catch(() => undefined);
    await repetition;
    expect(google.spreadsheet.rowsOf(title)?.map((row) => row[0])).toEqual([
      "user_id",
      ...rows.slice(0, 10).map(({ row }) => row.userId),
    ]);
  });
});
