/** Tests of reading a workbook as a sheet: which sheet, which cells, and what they are as texts. */
import { expect, test } from "vitest";
import writeXlsxFile from "write-excel-file/node";
import { readingText } from "../../../../src/bulk-grants/rules/sheet-reading-text.ts";
import { readRows } from "../../../../src/bulk-grants/use-cases/read-rows.ts";
import { bulkGrantIdIn } from "../../../../src/bulk-grants/use-cases/read-sheet.ts";
import { readWorkbook } from "../../../../src/bulk-grants/use-cases/workbook/read-workbook.ts";
import { plainText } from "../../../../src/platform/words/text-style.ts";
import { bytesOf, context, read, readAll, readingOf } from "../../../support/fixtures/sheets.ts";
import {
  header,
  inlineRows,
  stylesOf,
  type WorkbookXml,
  workbookOf,
} from "../../../support/fixtures/workbooks.ts";

const readXml = (xml: WorkbookXml) => readAll(bytesOf(workbookOf(xml)));

/** The rows without what is absent, or the error. */
async function rowsOf(xml: WorkbookXml) {
  const { rows, error } = await readXml(xml);
  if (error) throw error;
  return rows.map(({ line, userId, points, reason }) => [line, userId, points, reason]);
}

test("a workbook that a library has written gives the rows of the same CSV", async () => {
  const names = ["user_id", "points", "reason", "expire_month"];
  const cells: [string, number, string, string][] = [
    ["user-1", 100, "春のキャンペーン", ""],
    ["0012", 1_000_000, "a<b & \"c\" 'd'", "2027-03"],
    [" user-3 ", 1, " x ", ""],
    ["=1+1", 5, "", ""],
  ];
  const bytes = await writeXlsxFile([
    names.map((value) => ({ value, type: String })),
    ...cells.map((row) => row.map((value) => ({ value }))),
  ]).toBuffer();
  const csv = [names, ...cells]
    .map((row) => row.map((cell) => `"${String(cell).replaceAll('"', '""')}"`).join(","))
    .join("\r\n");
  const fromCsv = await read(csv);
  expect(fromCsv.error).toBeUndefined();
  expect(fromCsv.rows).toHaveLength(4);
  expect(await readAll(bytesOf(bytes))).toEqual(fromCsv);
});

test("the format follows from the bytes, in whatever chunks they come", async () => {
  const bytes = workbookOf({ rows: header + inlineRows(["u1", "5", "x"]) });
  const atOnce = await readAll(bytesOf(bytes, bytes.length));
  expect(atOnce.rows).toEqual([{ line: 2, userId: "u1", points: 5, reason: "x" }]);
  expect(await readAll(bytesOf(bytes, 1))).toEqual(atOnce);
  expect(await readAll(bytesOf(bytes, 3))).toEqual(atOnce);
});

test("texts are shared or inline, plain or of several runs, without their readings", async () => {
  const rows = await rowsOf({
    strings:
      "<si><t>user_id</t></si><si><r><t>po</t></r><r><rPr><b/></rPr><t>ints</t></r></si>" +
      '<si><t>理由</t><rPh sb="0" eb="2"><t>リユウ</t></rPh><phoneticPr fontId="1"/></si>' +
      "<si><t>u1</t></si><si/>",
    rows:
      '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>' +
      '<row><c t="s"><v>3</v></c><c><v>7</v></c><c t="inlineStr"><is><r><t>a</t></r>' +
      "<r><t><![CDATA[<b>]]></t></r><rPh><t>c</t></rPh></is></c></row>" +
      '<row><c t="s"><v>3</v></c><c><v>7</v></c><c t="s"><v>4</v></c></row>',
  });
  expect(rows).toEqual([
    [2, "u1", 7, "a<b>"],
    [3, "u1", 7, ""],
  ]);
});

test("escaped characters are what they stand for", async () => {
  const cells = ["u1", "5", "a_x005F_x0041_ &amp; _x0041_ _x41_"];
  const rows = await rowsOf({ rows: header + inlineRows(cells) });
  expect(rows).toEqual([[2, "u1", 5, "a_x0041_ & A _x41_".replace("&", "&amp;")]]);
});

test("lines are the numbers of the rows, gaps are empty cells, blank rows nothing", async () => {
  const cell = (name: string, text: string) =>
    `<c r="${name}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const rows = await rowsOf({
    rows:
      '<row r="1" spans="1:4"><c r="A1" s="1"/><c r="D1" s="1"/></row>' +
      `<row r="3">${cell("A3", "points")}${cell("B3", "reason")}${cell("C3", "user_id")}` +
      '<c r="D3"/></row>' +
      `<row r="7" ht="20">${cell("A7", "5")}${cell("C7", "u1")}<c r="E7" s="1"/></row>` +
      '<row r="8"><c r="A8"/><c r="B8" t="inlineStr"><is><t> </t></is></c></row>' +
      `<row r="9">${cell("C9", "u2")}</row><row r="1048576"/>`,
  });
  expect(rows).toEqual([
    [7, "u1", 5, ""],
    [9, "u2", 0, ""],
  ]);
});

test("a cell behind the header is one column too many", async () => {
  const { rows } = await readXml({ rows: header + inlineRows(["u1", "5", "", "", "x"]) });
  expect(rows[0]?.problems).toEqual([{ code: "COLUMNS_DIFFER", detail: "5" }]);
});

test("the first visible sheet is read, which is no chart", async () => {
  const sheets =
    '<sheet name="hidden" sheetId="1" state="hidden" r:id="rId2"/>' +
    '<sheet name="veryHidden" sheetId="2" state="veryHidden" r:id="rId2"/>' +
    '<sheet name="chart" sheetId="3" r:id="rId3"/>' +
    '<sheet name="付与&amp;1" sheetId="4" r:id="rId1"/><sheet name="more" sheetId="5" r:id="rId2"/>';
  const xml = { sheets, rows: header + inlineRows(["u1", "5", ""]) };
  expect(await rowsOf(xml)).toEqual([[2, "u1", 5, ""]]);
  const { records, form } = readWorkbook(bytesOf(workbookOf(xml)), "");
  for await (const _ of records);
  expect(form()).toMatchObject({ format: "XLSX", sheetName: "付与&1", otherSheetCount: 1 });
});

test("other namespaces, prefixes and strict workbooks", async () => {
  const strict = "http://purl.oclc.org/ooxml/spreadsheetml/main";
  const row = (user: string) =>
    `<x:row>${["<x:c t='inlineStr'><x:is><x:t>", "</x:t></x:is></x:c>"].join(user)}</x:row>`;
  const sheet =
    `<x:worksheet xmlns:x="${strict}" xmlns:o="urn:other"><x:sheetData>` +
    `${header.replaceAll(/<(\/?)/g, "<$1x:").replace("<x:row", "<x:row")}` +
    `<x:row><o:c t="inlineStr"><x:is><x:t>other</x:t></x:is></o:c></x:row>${row("u1")}` +
    "</x:sheetData></x:worksheet>";
  const { rows } = await readXml({ rows: "", parts: { "xl/worksheets/sheet1.xml": sheet } });
  expect(rows.map(({ line, userId }) => [line, userId])).toEqual([[3, "u1"]]);
});

test("truth values, errors and formulas by their stored values", async () => {
  const strings = "<si><t>u1</t></si>";
  const rows = await rowsOf({
    strings,
    rows:
      header +
      '<row><c t="s"><v>0</v></c><c><f>2+3</f><v>5</v></c><c t="b"><v>1</v></c></row>' +
      '<row><c t="str"><f>"u"&amp;2</f><v>u2</v></c><c><v>1</v></c><c t="e"><v>#N/A</v></c></row>' +
      '<row><c t="str"><f>""</f><v></v></c><c/><c t="str"><f>""</f></c></row>',
  });
  expect(rows).toEqual([
    [2, "u1", 5, "TRUE"],
    [3, "u2", 1, "#N/A"],
  ]);
});

test("the formulas of all rows that are not blank are counted", async () => {
  const row = "<row><c><f>1</f><v>1</v></c><c><f>2</f><v>2</v></c><c><v>3</v></c></row>";
  const blank = '<row><c t="str"><f>""</f><v/></c></row>';
  const bytes = bytesOf(workbookOf({ rows: header + row + blank + row }));
  const { records, form } = readWorkbook(bytes, "");
  for await (const _ of records);
  expect(form().formulaCount).toBe(4);
});

test("hidden rows are read and counted, and said with the sheets that are not read", async () => {
  const hide = (row: string, value: string) => row.replace("<row>", `<row hidden="${value}">`);
  const [row, second, third] = ["u1", "u2", "u3"].map((user) => inlineRows([user, "5"]));
  const rows =
    inlineRows(["user_id", "points"]) +
    hide(row as string, "1") +
    hide(second as string, "true") +
    hide(third as string, "0") +
    hide(inlineRows([" "]), "1");
  const sheets = ["rId1", "rId2", "rId2"].map((id) => `<sheet name="${id}" r:id="${id}"/>`);
  const bytes = workbookOf({ rows, sheets: sheets.join("") });
  const reading = await readingOf(bytes);
  expect(reading).toMatchObject({ hiddenRowCount: 2, otherSheetCount: 2 });
  expect(reading && readingText(reading, plainText("Asia/Tokyo"))).toBe(
    "read as XLSX, sheet rId1: user_id, points; not read: 2 other sheets; 2 hidden rows read as " +
      "well; line 2: 5 points to u1",
  );
  expect((await readAll(bytesOf(bytes))).rows).toHaveLength(3);
});

test("an encoding is named for no workbook, and that of its source is for CSV only", async () => {
  const bytes = workbookOf({ rows: header + inlineRows(["u1", "5", "春"]) });
  const { rows, error } = await readAll(bytesOf(bytes), { encoding: "shift_jis" });
  expect(rows).toEqual([]);
  expect(error).toMatchObject({ metadata: { code: "ENCODING_WRONG", line: "1" } });
  expect(String(error)).toContain("the file is a workbook (.xlsx), which has no encoding to name");
  const content = { csv: bytesOf(bytes), sender: "", sourceEncoding: "shift_jis" as const };
  for await (const row of readRows(content, context)) expect(row).toMatchObject({ reason: "春" });
});

/** A row with a number of a style in each column. */
const numberRow = (value: string, style = 0) =>
  `<row>${`<c s="${style}"><v>${value}</v></c>`.repeat(2)}</row>`;

test("cells that are not what people see are refused by their names", async () => {
  const names = inlineRows([
    "user_id",
    "points",
    "reason",
    "expire_month",
    "bulk_grant_id",
    "line",
  ]);
  const date = '<c s="1"><v>45992</v></c>';
  const formula = "<c><f>A1</f></c>";
  const { rows, error } = await readXml({
    styles: stylesOf([0, 14]),
    rows: `${names}<row>${date.repeat(6)}</row><row>${formula.repeat(5)}</row>`,
  });
  expect(error).toBeUndefined();
  const texts = (index: number) =>
    rows[index]?.problems?.map(({ code, cell, detail }) => [code, cell, detail]);
  const asText = "format the column as text, and write it again";
  expect(texts(0)).toEqual([
    ["CELL_UNREADABLE", "A2", `user_id: a date; ${asText}`],
    ["CELL_UNREADABLE", "B2", `points: a date; ${asText}`],
    ["CELL_UNREADABLE", "C2", `reason: a date; ${asText}`],
    ["CELL_UNREADABLE", "D2", `expire_month: a date; ${asText}, such as 2026-11`],
    ["CELL_UNREADABLE", "E2", `bulk_grant_id: a date; ${asText}`],
  ]);
  expect(texts(1)?.[0]).toEqual([
    "CELL_UNREADABLE",
    "A3",
    "user_id: a formula without a stored value; open the workbook in Excel and save it",
  ]);
  // What is kept for an export would be refused again, should nobody correct it.
  expect(rows[0]).toMatchObject({ userId: "45992 (not read)", points: 0 });
  expect(rows[0]).toMatchObject({ rawPoints: "45992 (not read)" });
});

test("a date that nobody reads is no problem", async () => {
  const names = inlineRows(["user_id", "points", "line"]);
  const { rows } = await readXml({
    styles: stylesOf([0, 14]),
    rows: `${names}<row><c><v>1</v></c><c><v>2</v></c><c s="1"><v>45992</v></c></row>`,
  });
  expect(rows).toEqual([{ line: 2, userId: "1", points: 2, reason: "" }]);
});

test("the problems of other cells name them, too", async () => {
  const { rows } = await readXml({
    rows:
      inlineRows(["reason", "user_id", "points", "expire_month", "bulk_grant_id"]) +
      inlineRows(["a\tb", "あ", "１", "11", "spring"]) +
      inlineRows(["", "", "", "", "x"]),
  });
  expect(rows.map(({ problems }) => problems?.map(({ code, cell }) => [code, cell]))).toEqual([
    [
      ["OTHER_BULK_GRANT", "E2"],
      ["USER_MALFORMED", "B2"],
      ["POINTS_MALFORMED", "C2"],
      ["REASON_MALFORMED", "A2"],
      ["MONTH_MALFORMED", "D2"],
    ],
    [
      ["OTHER_BULK_GRANT", "E3"],
      ["USER_MISSING", "B3"],
      ["POINTS_MISSING", "C3"],
    ],
  ]);
});

test("problems of the header name the cells", async () => {
  const { error } = await readXml({ rows: inlineRows(["user_id", "points", "x", "points"]) });
  expect(String(error)).toContain("line 1: C1 is not known: found `x`; D1, points, is there twice");
});

test("the bulk grant that the first row names", async () => {
  const rows = inlineRows(["user_id", "bulk_grant_id"], ["u1", "spring"]);
  expect(await bulkGrantIdIn(bytesOf(workbookOf({ rows })))).toBe("spring");
});

test("numbers are read by their digits, and as points also from decorated formats", async () => {
  const names = inlineRows(["user_id", "points"]);
  const { rows } = await readXml({
    styles: stylesOf([0, 3, 200, 201], { 200: "0000000", 201: '"U"0' }),
    rows:
      names +
      numberRow("8.21541E+08") +
      numberRow("1234567", 1) +
      numberRow("42", 2) +
      numberRow("7", 3) +
      numberRow("1234567890123456"),
  });
  expect(rows.map(({ userId, points }) => [userId, points])).toEqual([
    ["821541000", 821_541_000],
    ["1234567", 1_234_567],
    ["0000042", 42],
    ["7 (not read)", 7],
    ["1234567890123456 (not read)", 0],
  ]);
  expect(rows.map(({ problems }) => problems?.map(({ code, cell }) => [code, cell]))).toEqual([
    [["POINTS_ABOVE_CAP", "B2"]],
    [["POINTS_ABOVE_CAP", "B3"]],
    undefined,
    [["CELL_UNREADABLE", "A5"]],
    [
      ["CELL_UNREADABLE", "A6"],
      ["CELL_UNREADABLE", "B6"],
    ],
  ]);
});
