/** Tests that a broken record of a sheet costs itself, and nothing that is found about others. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import { bulkGrantIdIn } from "../../../src/bulk-grants/use-cases/read-sheet.ts";
import { bytesOf, read } from "../../support/fixtures/sheets.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

const header = "user_id,points,reason\n";
const codesOf = ({ problems = [] }: SheetRow) => problems.map(({ code }) => code);

describe("a broken record", () => {
  test("has the cells before its fault, and what follows them as it was", async () => {
    const csv = `${header}u1,5,"spring\nu2,x,"a"b\n"u3,5,c\nu4,5"0,d\nu 5,"6\nu6,7,e\n`;
    const found = (text: string) => `found \`${text}\``;
    expect(await read(csv)).toEqual({
      rows: [
        {
          ...{ line: 2, userId: "u1", points: 5, reason: '"spring' },
          problems: [{ code: "QUOTE_NOT_CLOSED", detail: found('"spring') }],
        },
        {
          ...{ line: 3, userId: "u2", points: 0, rawPoints: "x", reason: '"a"b' },
          problems: [
            { code: "CSV_MALFORMED", detail: found('"a"b') },
            { code: "POINTS_MALFORMED", detail: found("x") },
          ],
        },
        {
          ...{ line: 4, userId: '"u3,5,c', points: 0, rawPoints: "", reason: "" },
          problems: [{ code: "QUOTE_NOT_CLOSED", detail: found('"u3,5,c') }],
        },
        {
          ...{ line: 5, userId: "u4", points: 0, rawPoints: '5"0,d', reason: "" },
          problems: [{ code: "CSV_MALFORMED", detail: found('5"0,d') }],
        },
        {
          ...{ line: 6, userId: "u 5", points: 0, rawPoints: '"6', reason: "" },
          problems: [
            { code: "QUOTE_NOT_CLOSED", detail: found('"6') },
            { code: "USER_MALFORMED", detail: `${found("u 5")}: a blank` },
          ],
        },
        { line: 7, userId: "u6", points: 7, reason: "e" },
      ],
    });
  });

  test("is also one in Shift_JIS, and one of an export", async () => {
    const so = Buffer.from([0x83, 0x5c]);
    const csv = Buffer.concat([Buffer.from(`${header}u1,1,"`), so, Buffer.from("\r\nu2,2,"), so]);
    expect((await read([...csv])).rows).toMatchObject([
      { line: 2, reason: '"ソ', problems: [{ code: "QUOTE_NOT_CLOSED" }] },
      { line: 3, reason: "ソ" },
    ]);
    const exported = 'bulk_grant_id,user_id,points\nwinter,u1,"1\nsummer,u2,2\n';
    expect((await read(exported)).rows.map(codesOf)).toEqual([
      ["QUOTE_NOT_CLOSED", "OTHER_BULK_GRANT"],
      [],
    ]);
    expect(await bulkGrantIdIn(bytesOf(Buffer.from(exported)))).toBe("summer");
  });

  test("is a line of 64 KiB, of which nothing is kept, at every size of chunks", async () => {
    const long = `u2,2,${"x".repeat(2 ** 16 - 5)}`;
    for (const end of ["\n", "\r", "\r\n"]) {
      const csv = [header.trim(), 'u1,1,"a', long, "u3,3,b", `u4,4,${"x".repeat(2 ** 16 - 6)}`];
      for (const chunkLength of [101, 1_000, 2 ** 20]) {
        const { rows, error } = await read(csv.join(end), chunkLength);
        expect(error).toBeUndefined();
        expect(rows.map((row) => [row.line, row.userId, ...codesOf(row)])).toEqual([
          [2, "u1", "QUOTE_NOT_CLOSED"],
          [3, "", "LINE_TOO_LONG"],
          [4, "u3"],
          [5, "u4", "REASON_TOO_LONG"],
        ]);
      }
    }
  });

  test("is read before a fault of the whole sheet", async () => {
    const { rows, error } = await read(`${header}u1,1,"a\nu2,x,\nu3,3,\0\nu4,4,\n`);
    expect(rows.map(codesOf)).toEqual([["QUOTE_NOT_CLOSED"], ["POINTS_MALFORMED"]]);
    expect(error).toMatchObject({ metadata: { code: "NUL_BYTE", line: "4" } });
  });
});

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
const cell = (text: string, isQuoted: boolean) =>
  isQuoted || /[",]/.test(text) ? quoted(text) : text;

/** The cells behind the user of a row, right ones and wrong ones. */
const cells = fc
  .record({
    points: fc.constantFrom("1", "1000", "0", "x", ""),
    reason: fc.constantFrom("", "spring", "a, b", 'say "hi"', '"', ',"', "あ", "x".repeat(129)),
    isQuoted: fc.boolean(),
  })
  .map(({ points, reason, isQuoted }) => `${cell(points, isQuoted)},${cell(reason, isQuoted)}`);

/** Lines that are no record, and whose quotes no other line closes. */
const broken = fc.constantFrom('z,1,"a', 'z,1,a"b', '"z"1,2,c', '"z,1,c', 'z,"1"0,c', 'z,1,"a"",b');

const isBroken = (row: SheetRow) =>
  codesOf(row).some((code) => code === "QUOTE_NOT_CLOSED" || code === "CSV_MALFORMED");

test("what is found about the other rows does not change, whatever the chunks are", async () => {
  const line = fc.oneof(
    { weight: 3, arbitrary: cells.map((text) => ({ text, isBroken: false })) },
    { weight: 1, arbitrary: broken.map((text) => ({ text, isBroken: true })) },
  );
  const inputs = [
    fc.array(line, { minLength: 1 }),
    fc.constantFrom("\n", "\r\n", "\r"),
    fc.integer({ min: 1, max: 50 }),
  ] as const;
  const property = fc.asyncProperty(...inputs, async (drawn, end, chunkLength) => {
    const lines = drawn.map((each, i) => (each.isBroken ? each.text : `u${i},${each.text}`));
    const sheetOf = (all: readonly string[]) => [header.trim(), ...all].join(end);
    const { rows, error } = await read(sheetOf(lines), chunkLength);
    expect(error).toBeUndefined();
    expect(rows.map(({ line }) => line)).toEqual(drawn.map((_, i) => i + 2));
    expect(rows.map(isBroken)).toEqual(drawn.map((each) => each.isBroken));
    const right = await read(sheetOf(lines.filter((_, i) => !drawn[i]?.isBroken)));
    const found = ({ line: _, ...row }: SheetRow) => row;
    expect(rows.filter((row) => !isBroken(row)).map(found)).toEqual(right.rows.map(found));
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 100 }]);
});
