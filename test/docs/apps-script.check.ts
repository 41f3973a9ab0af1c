/** Runs the script of docs/grant/apps-script.md, for its check against a loopback server. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { runAppsScript, type ScriptTab } from "../support/fixtures/apps-script.ts";
import { codeNamed } from "../support/markdown.ts";

interface Call {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly programId: string; readonly bulkGrantId: string; readonly csv: string };
}

let server: Server;
let calls: Call[];
let answer: { readonly status: number; readonly body: object };

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { url, headers } = request;
    calls.push({ url, headers, body: (await json(request)) as Call["body"] });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
beforeEach(() => {
  calls = [];
  answer = { status: 200, body: { check: {} } };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const code = () => {
  const { port } = server.address() as AddressInfo;
  return codeNamed("docs/grant/apps-script.md", "check").replace(
    "https://HOST",
    `http://127.0.0.1:${port}`,
  );
};
const tabOf = (values: readonly (readonly unknown[])[]): ScriptTab => ({
  values,
  notes: values.map((row) => row.map(() => "")),
  backgrounds: values.map((row) => row.map(() => "#ffffff")),
});
const properties = { "meguri.bulk_grant_id.0": "spring-2027" };
const checkTab = (tab: ScriptTab) =>
  runAppsScript({ code: code(), functionName: "checkTab", tab, properties });

test("the menu has its entries", async () => {
  const { menu } = await runAppsScript({ code: code(), functionName: "onOpen", tab: tabOf([]) });
  expect(menu).toEqual([
    "Meguri, Check: checkTab, Submit: submitTab, Status: showStatus, Failed rows: writeFailedRows",
  ]);
});

test("the tab is sent as CSV, one line for each row", async () => {
  await checkTab(
    tabOf([
      ["user_id", "points", "reason"],
      ["aoi", 1000, '春の "sale", first'],
      ["", "", ""],
      ["ben", "1,000", "two\nlines"],
      [1_234_567_890_123_456_800, 1, ""],
    ]),
  );
  expect(calls).toHaveLength(1);
  const [{ url, headers, body } = {} as Call] = calls;
  expect(url).toBe("/meguri.bulkgrants.v1.BulkGrantService/CheckSheet");
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "meguri-caller": "campaign-sheet",
  });
  expect(body).toMatchObject({ programId: "default", bulkGrantId: "spring-2027" });
  const csv = Buffer.from(body.csv, "base64").toString();
  expect(csv.split("\n")).toHaveLength(5);
  expect(parse(csv, { skip_empty_lines: true })).toEqual([
    ["user_id", "points", "reason"],
    ["aoi", "1000", '春の "sale", first'],
    ["ben", "1,000", "two lines"],
    [expect.stringMatching(/ \(rounded\)$/), "1", ""],
  ]);
});

test("wrong cells are marked, and the marks of the last check are removed", async () => {
  const problems = [
    { line: 1, code: "COLUMN_UNKNOWN", message: "colour is unknown" },
    { line: 2, userId: "aoi", code: "POINTS_MALFORMED", message: "points: a whole number" },
    { line: 4, userId: "aoi", code: "USER_TWICE", message: "user_id: is in line 2 already" },
    { line: 5, userId: "cho", code: "USER_MALFORMED", message: "user_id: found `c h`" },
    { line: 5, userId: "cho", code: "REASON_TOO_LONG", message: "reason: at most 128 bytes" },
    { line: 5, userId: "cho", code: "REASON_MALFORMED", message: "reason: a tab" },
  ];
  answer = { status: 200, body: { check: { rowCount: 4, totalPoints: "120", problems } } };
  const rows = [[" Points", "reason", "USER_ID"], ["x"], [10], [10], [100]];
  const before = tabOf(rows.map((row) => [...row, "", ""].slice(0, 3)));
  const notes = before.notes.map((row) => [...row]);
  notes[2] = ["Meguri: points: is missing (POINTS_MISSING)", "mine", ""];
  const backgrounds = before.backgrounds.map((row) => [...row]);
  backgrounds[2] = ["#f4cccc", "#00ff00", "#ffffff"];
  const { tab } = await checkTab({ ...before, notes, backgrounds });
  expect(tab.notes).toEqual([
    ["", "", "Meguri: colour is unknown (COLUMN_UNKNOWN)"],
    ["Meguri: points: a whole number (POINTS_MALFORMED)", "", ""],
    ["", "mine", ""],
    ["", "", "Meguri: user_id: is in line 2 already (USER_TWICE)"],
    [
      "",
      "Meguri: reason: at most 128 bytes (REASON_TOO_LONG)\n" +
        "Meguri: reason: a tab (REASON_MALFORMED)",
      "Meguri: user_id: found `c h` (USER_MALFORMED)",
    ],
  ]);
  const white = "#ffffff";
  const red = "#f4cccc";
  expect(tab.backgrounds).toEqual([
    [white, white, red],
    [red, white, white],
    [null, "#00ff00", white],
    [white, white, red],
    [white, red, red],
  ]);
});

test("a problem of the whole sheet is marked in the header", async () => {
  const problems = [{ code: "TOTAL_ABOVE_CAP", message: "the program allows at most 100" }];
  answer = { status: 200, body: { check: { problems } } };
  const { tab } = await checkTab(
    tabOf([
      ["user_id", "points"],
      ["aoi", 101],
    ]),
  );
  expect(tab.notes[0]).toEqual(["", "Meguri: the program allows at most 100 (TOTAL_ABOVE_CAP)"]);
});

test("the number of rows, points and problems is shown", async () => {
  const problemCounts = [{ code: "USER_TWICE", rowCount: 2 }];
  const check = {
    rowCount: 12,
    totalPoints: "1200",
    problemCounts,
    sheetWarnings: [{ code: "POINTS_ZERO", text: "POINTS_ZERO: 1 row has 0 points; line 3" }],
    sameContentBulkGrantId: "spring-2026",
  };
  answer = { status: 200, body: { check } };
  const rows = tabOf([["user_id", "points"]]);
  expect((await checkTab(rows)).alerts).toEqual([
    "Warning: POINTS_ZERO: 1 row has 0 points; line 3\nRows: 12\nPoints: 1200\nUSER_TWICE: 2\n" +
      "spring-2026 has the same rows.",
  ]);
  answer = { status: 200, body: { check: { rowCount: 1, totalPoints: "5" } } };
  expect((await checkTab(rows)).alerts).toEqual(["Rows: 1\nPoints: 5\nNothing is wrong."]);
});

test("a refusal is shown, and the marks stay", async () => {
  answer = { status: 404, body: { code: "not_found", message: "there is no program" } };
  const before = tabOf([["user_id", "points"]]);
  const { error, tab, alerts } = await checkTab(before);
  expect(error).toContain("there is no program");
  expect(tab).toEqual(before);
  expect(alerts).toEqual([]);
});
