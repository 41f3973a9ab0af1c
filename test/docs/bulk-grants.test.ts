/**
 * Compares docs/grant/bulk-grants.md, and the page in Japanese beside it, with the codes of sheets
 * and the states, and docs/call/bulk-grants.md with the digests.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { activeStates, finalStates } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { isRowCode } from "../../src/bulk-grants/rules/sheet.ts";
import { readSheet } from "../../src/bulk-grants/use-cases/read-sheet.ts";
import { createRowsDigest, digestOf } from "../../src/bulk-grants/use-cases/rows-digest.ts";
import { warningCodes } from "../../src/points/rules/bulk-rules.ts";
import { codeBlocks, codeNamed, projectRoot } from "../support/markdown.ts";

const page = "docs/grant/bulk-grants.md";
const digestPage = "docs/call/bulk-grants.md";
const text = readFileSync(`${projectRoot}${page}`, "utf8");
const source = readFileSync(`${projectRoot}src/bulk-grants/rules/sheet.ts`, "utf8");

const japanese = readFileSync(`${projectRoot}docs/grant/bulk-grants.ja.md`, "utf8");
const pages = [
  ["in English", text],
  ["in Japanese", japanese],
] as const;

/** The codes in the first column of the table behind a marker. */
function codesOf(text: string, marker: string): string[] {
  const table = text.split(`<!-- ${marker} -->\n`)[1]?.split("\n\n")[0] ?? "";
  return [...table.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code = ""]) => code);
}

const inSource = (pattern: RegExp) => [...source.matchAll(pattern)].map(([, code = ""]) => code);

test.each(pages)("the page %s has every code of a row", (_, text) => {
  const codes = codesOf(text, "row codes");
  expect(codes.filter((code) => !isRowCode(code))).toEqual([]);
  expect(codes).toEqual(inSource(/^ {2}([A-Z_]+): \(/gm));
});

test.each(pages)("the page %s has every code of a sheet", (_, text) => {
  expect(codesOf(text, "sheet codes")).toEqual(inSource(/^ {2}\| "([A-Z_]+)"/gm));
});

test.each(pages)("the page %s has every code of a warning", (_, text) => {
  expect(codesOf(text, "warning codes")).toEqual(warningCodes);
});

test("the diagram has every state", () => {
  const diagram = codeBlocks(page).find(({ code }) => code.includes("VALIDATING"))?.code ?? "";
  const words = new Set(diagram.match(/[A-Z_]{4,}/g));
  expect(words).toEqual(new Set([...activeStates, ...finalStates]));
});

test("the page in Japanese explains every state", () => {
  const states = [...japanese.matchAll(/^\| `([A-Z_]+)` \| /gm)].map(([, state = ""]) => state);
  expect(states).toEqual(expect.arrayContaining([...activeStates, ...finalStates]));
});

async function* bytesOf(csv: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csv);
}

const sheetPages = [
  ...[page, "docs/grant/bulk-grants.ja.md"],
  ...["docs/grant/README.md", "docs/grant/README.ja.md"],
];
const sheets = sheetPages.map((file) => {
  const csv = codeBlocks(file).find(({ language }) => language === "csv")?.code ?? "";
  return [file, csv] as const;
});

test.each(sheets)("the sheet of %s has two right rows", async (_, csv) => {
  const rows = [];
  const context = { bulkGrantId: "spring-2027", maxPointsPerRow: 100, userIdPattern: "" };
  for await (const { userId, points, problems } of readSheet(bytesOf(csv), context)) {
    rows.push([userId, points, problems]);
  }
  expect(rows).toEqual([
    ["aoi", 100, undefined],
    ["ben", 50, undefined],
  ]);
});

test("the commands compute the digest that an approval names", async () => {
  const rows = createRowsDigest();
  rows.add({ line: 2, userId: "aoi", points: 100, reason: "spring campaign" });
  rows.add({ line: 3, userId: "ben", points: 50, reason: "for you, Ben" });
  const digest = digestOf({
    programId: "default",
    bulkGrantId: "spring-2027",
    revision: 1,
    requiredApprovalCount: 1,
    rowsDigest: rows.digest(),
  });
  const command = codeNamed(digestPage, "digest");
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  expect(stdout).toBe(digest);
  const blocks = codeBlocks(digestPage);
  const index = blocks.findIndex(({ code }) => code === command);
  expect(blocks[index + 1]?.code).toBe(`${digest}\n`);
});
