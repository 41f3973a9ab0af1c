/** Tests of sheets as programs write them, and of what is said to be understood of them. */
import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { readingText } from "../../../src/bulk-grants/rules/sheet-reading-text.ts";
import { plainText } from "../../../src/platform/words/text-style.ts";
import { read, readingOf } from "../../support/fixtures/sheets.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

const codesOf = async (csv: string) =>
  (await read(csv)).rows.map(({ problems }) => problems?.map(({ code }) => code));

describe("a sheet of a program", () => {
  test("may lack empty cells at the end of a line where they are optional", async () => {
    expect(await codesOf("user_id,points,reason,expire_month\nu1,1\nu2,1,x\nu3\n")).toEqual([
      undefined,
      undefined,
      ["COLUMNS_DIFFER"],
    ]);
  });

  test("may have columns without name and content, and empty cells behind a line", async () => {
    const csv = "user_id,,points,,\nu1,,1,,\nu2,, 1, ,,,\nu3,x,1\nu4,,1,,,x\n";
    expect(await codesOf(csv)).toEqual([
      undefined,
      undefined,
      ["COLUMN_UNNAMED"],
      ["COLUMNS_DIFFER"],
    ]);
  });

  test.each([
    ["sep=;", ";"],
    ['"sep=;"', ";"],
    ["SEP=,", ","],
    ["sep=\t", "\t"],
  ])("names its separator in a line %j, which is not counted", async (line, separator) => {
    const cells = [
      ["user_id", "points", "reason"],
      ["u1", "5", '"a;b,\tc"'],
    ];
    const csv = [line, ...cells.map((row) => row.join(separator))].join("\r\n");
    const { rows } = await read(csv);
    expect(rows).toMatchObject([{ line: 2, userId: "u1", points: 5 }]);
    expect(await readingOf(csv)).toMatchObject({ separator });
  });

  test.each(["User ID", "userId", "会員番号", "会員ID", "ユーザーID"])(
    "names users %s",
    async (name) => {
      const reading = await readingOf(`${name},ポイント数\nu1,1\n`);
      expect(reading?.columns).toEqual([
        { name, readAs: "user_id" },
        { name: "ポイント数", readAs: "points" },
      ]);
    },
  );

  test("says which month is malformed", async () => {
    const { rows } = await read("user_id,points,expire_month\nu1,1,2027/01/31\n");
    expect(rows[0]?.problems).toEqual([{ code: "MONTH_MALFORMED", detail: "2027/01/31" }]);
  });

  test("leaves rows of 0 points out, counted, where that is asked for", async () => {
    const csv = "user_id,points\nu1,0\nu1,5\nu2,00\nu3,x\n";
    const { rows } = await read(csv, undefined, { skipZero: true });
    expect(rows).toMatchObject([{ line: 3, userId: "u1", points: 5 }, { line: 5 }]);
    expect(await readingOf(csv, { skipZero: true })).toMatchObject({ skippedZeroCount: 2 });
  });

  test("has no row when all of them are left out", async () => {
    const { error } = await read("user_id,points\nu1,0\n", undefined, { skipZero: true });
    expect(error).toMatchObject({ metadata: { code: "EMPTY" } });
  });

  test("with hundreds of unknown columns is refused in a short message", async () => {
    const names = Array.from({ length: 400 }, (_, i) => `配送先のお名前とご住所${i}`);
    const { error } = await read(`user_id,points,${names.join(",")}\nu,1\n`);
    expect(error).toMatchObject({ metadata: { code: "COLUMN_UNKNOWN" } });
    expect(encodeURIComponent(String(error)).length).toBeLessThan(2_048);
    expect(String(error)).toContain("395 more of the first line");
  });
});

test("what was understood is said in one line", async () => {
  const csv = iconv.encode("会員番号,points,理由,line\na,0,\naoi,100,春の特典,9\n", "cp932");
  const reading = await readingOf(csv, { skipZero: true });
  expect(reading && readingText(reading, plainText("Asia/Tokyo"))).toBe(
    "read as CSV in Shift_JIS with commas: user_id = 会員番号, points, reason = 理由; not read: line; " +
      "1 row of 0 points left out; line 3: 100 points to aoi for ‘春の特典’",
  );
});

test("whatever is accepted has the row that the sample says, in any encoding", async () => {
  const encodings = [
    ["utf-8", "utf-8"],
    ["shift_jis", "cp932"],
    ["euc-kr", "cp949"],
    ["gbk", "gbk"],
    ["windows-1252", "windows-1252"],
    ["auto", "cp932"],
    ["auto", "utf-8"],
    ["auto", "windows-1252"],
  ] as const;
  const reasons = ["", "spring", "café", "봄", "春の特典", "春节", "ﾃｽﾄ", "Ben’s", "a;b", "円"];
  const property = fc.asyncProperty(
    fc.constantFrom(...encodings),
    fc.constantFrom(",", ";", "\t"),
    fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(...reasons)), {
      minLength: 1,
      maxLength: 6,
    }),
    fc.boolean(),
    async ([named, encoding], separator, cells, skipZero) => {
      const lines = cells.map(([points, reason], i) => [`u${i}`, points, `"${reason}"`]);
      const all = [["user_id", "points", "reason"], ...lines].map((row) => row.join(separator));
      const csv = iconv.encode(`sep=${separator}\n${all.join("\n")}`, encoding);
      const options = { encoding: named === "auto" ? undefined : named, skipZero };
      const reading = await readingOf(csv, options);
      const { rows, error } = await read(csv, undefined, options);
      expect(reading === undefined).toBe(error !== undefined);
      if (!reading?.sample) return;
      expect(rows).toContainEqual({ ...reading.sample, problems: undefined });
      for (const { line, reason } of rows) {
        const sent = cells[line - 2]?.[1] ?? "";
        expect(reason).toBe(iconv.decode(iconv.encode(sent, encoding), encoding));
      }
    },
  );
  await assertSeeds(property, [{ seed: 20_261_129, numRuns: 200 }]);
});
