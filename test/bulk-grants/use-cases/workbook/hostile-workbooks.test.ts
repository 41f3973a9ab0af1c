/** Tests that damaged and hostile workbooks are refused with the reason, within limits. */

import fc from "fast-check";
import { strToU8, Zip, ZipDeflate } from "fflate";
import { expect, test } from "vitest";
import { readSharedStrings } from "../../../../src/bulk-grants/use-cases/workbook/shared-strings.ts";
import { DomainError } from "../../../../src/platform/words/errors.ts";
import { bytesOf, readAll } from "../../../support/fixtures/sheets.ts";
import {
  header,
  inlineRows,
  partsOf,
  sheetXml,
  type WorkbookXml,
  workbookOf,
  zipOf,
} from "../../../support/fixtures/workbooks.ts";
import { assertSeeds } from "../../../support/models/seeded.ts";

const rows = header + inlineRows(["u1", "5", "x"]);
const valid = { rows };
const sheetName = "xl/worksheets/sheet1.xml";

const withSheet = (xml: string): WorkbookXml => ({ rows: "", parts: { [sheetName]: xml } });

const merged = (range: string) =>
  `<mergeCells><mergeCell ref="${range}"/></mergeCells></worksheet>`;

/** Reads bytes, and returns the refusal. */
async function refusalOf(bytes: Uint8Array) {
  const { error } = await readAll(bytesOf(bytes));
  expect(error).toBeInstanceOf(DomainError);
  const { reason, message, metadata } = error as DomainError;
  expect(reason).toBe("INVALID_REQUEST");
  return `${metadata.code} ${message}`;
}

/** Where fields are in an entry of the directory of a zip file. */
const fields = { flags: 8, method: 10, crc32: 16, uncompressedSize: 24 };

/** Changes a field of the entries of a name in the directory. */
function patched(xml: WorkbookXml, name: string, field: keyof typeof fields, value: number) {
  const zip = Buffer.from(workbookOf(xml));
  for (
    let at = zip.indexOf("PK\u0001\u0002");
    at >= 0;
    at = zip.indexOf("PK\u0001\u0002", at + 4)
  ) {
    const found = zip.toString("latin1", at + 46, at + 46 + zip.readUInt16LE(at + 28));
    if (found !== name) continue;
    if (field === "flags" || field === "method") zip.writeUInt16LE(value, at + fields[field]);
    else zip.writeUInt32LE(value, at + fields[field]);
  }
  return zip;
}

const mib = 2 ** 20;

test.each([
  ["a size above the limit", patched(valid, sheetName, "uncompressedSize", 256 * mib), "TOO_LARGE"],
  ["a size that is too small", patched(valid, sheetName, "uncompressedSize", 10), "is damaged"],
  ["a size that is too large", patched(valid, sheetName, "uncompressedSize", 9_999), "is damaged"],
  ["another checksum", patched(valid, sheetName, "crc32", 1), "is damaged"],
  ["encryption", patched(valid, sheetName, "flags", 1), "has a password; save it without"],
  ["another compression", patched(valid, sheetName, "method", 12), "that Excel does not use"],
  ["no end", workbookOf(valid).subarray(0, -30), "End of central directory"],
  ["a cut-off middle", Buffer.concat([workbookOf(valid).subarray(0, 200)]), "is damaged"],
  ["only a start", Buffer.from("PK\u0003\u0004"), "is damaged"],
])("a zip file with %s", async (_, bytes, text) => {
  expect(await refusalOf(bytes)).toContain(text);
});

test("the sizes of all parts that are read are added up", async () => {
  const xml = { rows, strings: `<si><t>${"a".repeat(9)}</t></si>` };
  const zip = patched(xml, "xl/sharedStrings.xml", "uncompressedSize", 255 * mib);
  // The shared strings are under the limit, and end too early.
  expect(await refusalOf(zip)).toContain("is damaged");
  const styles = patched(xml, "xl/styles.xml", "uncompressedSize", 256 * mib - 1);
  expect(await refusalOf(styles)).toContain("exceed 256 MiB when they are inflated");
});

test("two parts of one name, and too many parts", async () => {
  const upper = zipOf({ ...partsOf(valid), [sheetName.toUpperCase()]: sheetXml("") });
  expect(await refusalOf(upper)).toContain("two parts XL/WORKSHEETS/SHEET1.XML");
  const many = Buffer.from(workbookOf(valid));
  many.writeUInt16LE(10_001, many.length - 12);
  expect(await refusalOf(many)).toContain("more than 10000 parts");
});

/** The same zip file with an end of 64 bits, in which large ones have their numbers. */
function zip64(zip: Buffer): Buffer {
  const end = zip.length - 22;
  const [count, size, start] = [zip.readUInt16LE(end + 10), zip.readUInt32LE(end + 12), end + 16];
  const record = Buffer.alloc(56);
  record.write("PK\u0006\u0006", "latin1");
  record.writeBigUInt64LE(44n, 4);
  for (const at of [24, 32]) record.writeBigUInt64LE(BigInt(count), at);
  record.writeBigUInt64LE(BigInt(size), 40);
  record.writeBigUInt64LE(BigInt(zip.readUInt32LE(start)), 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\u0006\u0007", "latin1");
  locator.writeBigUInt64LE(BigInt(end), 8);
  locator.writeUInt32LE(1, 16);
  const last = Buffer.from(zip.subarray(end));
  for (const at of [8, 10]) last.writeUInt16LE(0xffff, at);
  for (const at of [12, 16]) last.writeUInt32LE(0xffff_ffff, at);
  return Buffer.concat([zip.subarray(0, end), record, locator, last]);
}

test("a zip file of 64 bits is read, and has the same limits", async () => {
  const zip = zip64(Buffer.from(workbookOf(valid)));
  expect((await readAll(bytesOf(zip))).rows).toMatchObject([{ userId: "u1" }]);
  const many = Buffer.from(zip);
  many.writeBigUInt64LE(10_001n, many.length - 98 + 32);
  expect(await refusalOf(many)).toContain("more than 10000 parts");
  const far = Buffer.from(zip);
  far.writeBigUInt64LE(2n ** 40n, far.length - 98 + 48);
  expect(await refusalOf(far)).toContain("is damaged");
});

test("two parts that share their bytes are read within the limit of all parts", async () => {
  const names = ["xl/sharedStrings.xml", "xl/styles.xml"] as const;
  const parts = partsOf({ rows, parts: { [names[1]]: partsOf(valid)[names[0]] } });
  const zip = Buffer.from(zipOf(parts));
  const directory = zip.readUInt32LE(zip.length - 6);
  const [strings, styles] = names.map((name) => zip.indexOf(name, directory) - 46);
  zip.copyWithin((styles as number) + 42, (strings as number) + 42, (strings as number) + 46);
  expect((await readAll(bytesOf(zip))).rows).toMatchObject([{ userId: "u1" }]);
  // Each of both is counted as a part of its own, however often its bytes are used.
  for (const each of [strings, styles]) zip.writeUInt32LE(129 * mib, (each as number) + 24);
  expect(await refusalOf(zip)).toContain("is damaged");
});

test("a zip file within a zip file is no workbook", async () => {
  expect(await refusalOf(zipOf({ "book.xlsx": workbookOf(valid) }))).toContain(
    "the file is no workbook of Excel",
  );
  const nested = partsOf({ rows, parts: { [sheetName]: workbookOf(valid) } });
  expect(await refusalOf(zipOf(nested))).toContain("is damaged");
});

test("a zip file whose sizes stand behind the parts is read by its directory", async () => {
  const chunks: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error) throw error;
    chunks.push(chunk);
  });
  for (const [name, content] of Object.entries(partsOf(valid))) {
    const file = new ZipDeflate(name);
    zip.add(file);
    file.push(strToU8(content as string), true);
  }
  zip.end();
  expect((await readAll(bytesOf(Buffer.concat(chunks)))).rows).toMatchObject([{ userId: "u1" }]);
});

const relations = "xl/_rels/workbook.xml.rels";
const entity = (name: string, value: string) => `<!ENTITY ${name} "${value}">`;

test.each<[string, WorkbookXml, string]>([
  [
    "no visible sheet",
    { rows, sheets: '<sheet name="a" state="hidden" r:id="rId1"/>' },
    "no visible",
  ],
  ["no sheet", { rows, sheets: "" }, "no visible sheet"],
  ["a sheet without its part", { rows, parts: { [relations]: "" } }, `${relations} is damaged`],
  [
    "a document type",
    withSheet(`<!DOCTYPE a [${entity("a", "&b;")}]><a>&a;</a>`),
    "a document type",
  ],
  [
    "an unknown entity",
    { rows: inlineRows(["user_id", "points"]).replace("points", "&a;") },
    "damaged",
  ],
  ["a broken element", withSheet("<worksheet><sheetData>"), "sheet1.xml is damaged"],
  ["no XML", withSheet("user_id,points\n"), "sheet1.xml is damaged"],
  ["deep elements", withSheet("<a>".repeat(70)), "nested too deeply"],
  ["another encoding", withSheet('<?xml version="1.0" encoding="UTF-16"?><a/>'), "is in UTF-16"],
  ["a text without an end", withSheet(`<a>${"b".repeat(300_000)}`), "TOO_LARGE"],
  ["a tag without an end", withSheet(`<a b="${"c".repeat(300_000)}`), "TOO_LARGE"],
  [
    "a text of too many pieces",
    { rows: "", strings: `<si>${`<r><t>${"a".repeat(99_999)}</t></r>`.repeat(3)}</si>` },
    "TOO_LARGE",
  ],
  [
    "an index beyond the strings",
    { rows: '<row><c t="s"><v>0</v></c></row>' },
    "no shared string 0",
  ],
  ["an index that is none", { rows: '<row><c t="s"><v>-1</v></c></row>' }, "no shared string -1"],
  ["an unknown type", { rows: '<row><c t="x"><v>1</v></c></row>' }, "its type is not known"],
  ["a truth value of 2", { rows: '<row><c t="b"><v>2</v></c></row>' }, "a truth value is 0 or 1"],
  [
    "a cell of two values",
    { rows: "<row><c><v>1</v><v>2</v></c></row>" },
    "A1 is damaged: it has two values",
  ],
  [
    "a text beside a value",
    { rows: '<row><c t="inlineStr"><is><t>1</t></is><v>2</v></c></row>' },
    "A1 is damaged: it has a text, and another value",
  ],
  [
    "a cell over several rows, in which people see one reason",
    withSheet(sheetXml(rows).replace("</worksheet>", merged("C2:C9"))),
    "line 2: C2:C9: cells of several rows are merged; unmerge them",
  ],
  [
    "a merge of nothing",
    withSheet(sheetXml(rows).replace("</worksheet>", merged("x"))),
    "x: cells",
  ],
  ["half a character", { rows: inlineRows(["_xD83D_"]) }, "half of a surrogate pair"],
  ["a NUL character", { rows: inlineRows(["user_id", "_x0000_"]) }, "NUL_BYTE line 1: B1: a NUL"],
  ["a row twice", { rows: '<row r="2"/><row r="2"/>' }, "the row 2 follows the row 2"],
  ["a row before", { rows: '<row r="2"/><row r="1"/>' }, "the row 1 follows the row 2"],
  ["a row 0", { rows: '<row r="0"/>' }, "the row 0 follows the row 0"],
  ["a row 1.5", { rows: '<row r="1.5"/>' }, "the row 1.5 follows"],
  ["a row beyond Excel's", { rows: '<row r="1048577"/>' }, "the row 1048577 follows"],
  ["a cell twice", { rows: '<row r="1"><c r="A1"/><c r="A1"/></row>' }, "A1 follows A1"],
  [
    "a cell of another row",
    { rows: '<row r="1"><c r="A2"/></row>' },
    "A2 follows the start of row 1",
  ],
  ["a column beyond Excel's", { rows: '<row r="1"><c r="XFE1"/></row>' }, "XFE1 follows"],
  ["a name that is none", { rows: '<row r="1"><c r="1A"/></row>' }, "1A follows"],
  [
    "too many columns",
    { rows: '<row r="1"><c r="IW1"><v>1</v></c></row>' },
    "IW1: a sheet has at most 256",
  ],
])("a workbook with %s", async (_, xml, text) => {
  expect(await refusalOf(workbookOf(xml))).toContain(text);
});

test.each([
  ["xl/workbook.bin", "a binary one (.xlsb)"],
  ["word/document.xml", "no part word/document.xml"],
])("an office file whose first part is %s", async (target, text) => {
  const parts = partsOf(valid);
  const relation = parts["_rels/.rels"].replace("xl/workbook.xml", target);
  const other = { ...parts, "_rels/.rels": relation, "word/_rels/document.xml.rels": "<a/>" };
  expect(await refusalOf(zipOf(other))).toContain(text);
});

test("a zip file that is no office file", async () => {
  expect(await refusalOf(zipOf({ mimetype: "x", "a.csv": "user_id,points\n" }))).toContain(
    "the file is no workbook of Excel (.xlsx); save it as .xlsx or as CSV",
  );
});

test("cells that are merged within a row are read as they are", async () => {
  const xml = withSheet(sheetXml(rows).replace("</worksheet>", merged("C1:D1")));
  expect(await readAll(bytesOf(workbookOf(xml)))).toMatchObject({ rows: [{ userId: "u1" }] });
});

test("a row of 64 KiB is one broken row", async () => {
  const long = inlineRows(["u1", "5", "x".repeat(33_000), "x".repeat(33_000)]);
  const { rows: found, error } = await readAll(
    bytesOf(workbookOf({ rows: header + long + inlineRows(["u2", "5", ""]) })),
  );
  expect(error).toBeUndefined();
  expect(found.map(({ line, problems }) => [line, problems])).toEqual([
    [2, [{ code: "LINE_TOO_LONG" }]],
    [3, undefined],
  ]);
});

test("texts that cells share have a limit where they are used", async () => {
  const row = '<row><c t="s"><v>0</v></c></row>'.repeat(1_100);
  const strings = `<si><t>${"a".repeat(32_000)}</t></si>`;
  expect(await refusalOf(workbookOf({ rows: header + row, strings }))).toContain(
    "the cells of the sheet exceed 32 MiB",
  );
});

test("shared strings have a limit, however short they are", async () => {
  const xml = partsOf({ rows, strings: "<si><t>a</t></si><si/>" })["xl/sharedStrings.xml"];
  const readWith = (maxBytes: number) =>
    readSharedStrings("strings", bytesOf(strToU8(xml as string)), { add() {} }, maxBytes);
  // A text of one byte, and an offset of four bytes for each of both.
  expect((await readWith(9)).at(1)).toBe("");
  await expect(readWith(8)).rejects.toThrow("the texts of the workbook exceed 32 MiB");
});

test("a workbook of more than 32 MiB", async () => {
  const zip = Buffer.concat([workbookOf(valid), Buffer.alloc(32 * mib)]);
  expect(await refusalOf(zip)).toContain("the workbook exceeds 32 MiB");
});

test("the event loop turns for every 4 KiB of XML", async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  const many = header + inlineRows(["u1", "5", ""]).repeat(5_000);
  await readAll(bytesOf(workbookOf({ rows: many })));
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(many.length / 4_096));
});

const mutation = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });

function mutated(bytes: Uint8Array, mutations: readonly { at: number; byte: number }[]) {
  const changed = Buffer.from(bytes);
  for (const { at, byte } of mutations) changed[at % changed.length] = byte;
  return changed;
}

const expectRowsOrRefusal = async (bytes: Uint8Array) => {
  const { error } = await readAll(bytesOf(bytes));
  if (error !== undefined) expect(error).toBeInstanceOf(DomainError);
};

test("any changed bytes give rows or a refusal", async () => {
  const zip = workbookOf({ rows, strings: "<si><t>x</t></si>" });
  const mutations = fc.array(mutation, { minLength: 1, maxLength: 8 });
  const ofZip = fc.asyncProperty(mutations, (list) => expectRowsOrRefusal(mutated(zip, list)));
  await assertSeeds(ofZip, [{ seed: 20_261_129, numRuns: 300 }]);
});

test("any changed XML gives rows or a refusal", async () => {
  const parts = partsOf({ rows: rows.replace("5", "&#53;"), strings: "<si><t>x</t></si>" });
  const names = fc.constantFrom(...(Object.keys(parts) as (keyof typeof parts)[]));
  const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });
  const ofXml = fc.asyncProperty(names, mutations, async (name, list) => {
    const changed = mutated(strToU8(parts[name] as string), list);
    await expectRowsOrRefusal(zipOf({ ...parts, [name]: changed }));
  });
  await assertSeeds(ofXml, [{ seed: 20_261_129, numRuns: 100 }]);
});
