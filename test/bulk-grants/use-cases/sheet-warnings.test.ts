/** Tests which sheets are warned of, each warning with a small sheet, and which are not. */
import { describe, expect, test } from "vitest";
import { createSheetWarnings } from "../../../src/bulk-grants/use-cases/sheet-warnings.ts";
import { cafeLines, spoilings } from "../../support/fixtures/cafe-twin.ts";
import { read } from "../../support/fixtures/sheets.ts";

/** What is known of the accounts of the program. */
interface Accounts {
  /** The users of the sheet who have one. */
  readonly ofSheet?: readonly string[];
  /** Users of the program, as the index names them. */
  readonly ofProgram?: readonly string[];
}

/** The warnings of a sheet with these lines. */
async function warningsOf(
  lines: readonly string[],
  { ofSheet = [], ofProgram = [] }: Accounts = {},
) {
  const { rows } = await read(`user_id,points,reason\n${lines.join("\n")}\n`);
  const collector = createSheetWarnings();
  for (const row of rows) collector.add(row, ofSheet.includes(row.userId));
  return collector.result(async () => ofProgram);
}

/** The codes of the warnings. */
const codesOf = async (...args: Parameters<typeof warningsOf>): Promise<string[]> =>
  (await warningsOf(...args)).map(({ code }) => code);

/** Lines of users u0, u1 and so on with their points. */
const linesOf = (points: readonly number[]): string[] => points.map((each, i) => `u${i},${each},`);

/** As many numbers that are as good as random. */
const spread = (count: number): number[] =>
  Array.from({ length: count }, (_, i) => 10 + ((i * i * 31 + i * 7) % 97));

describe("a café's members with their opening balances", () => {
  test("are not warned of as they are", async () => {
    expect(await warningsOf(cafeLines())).toEqual([]);
  });

  test.each([
    ["zeros lost", "LEADING_ZEROS_LOST"],
    ["scientific", "IDS_CHANGED"],
    ["a fraction", "IDS_CHANGED"],
  ] as const)("have one warning after this: %s", async (spoiling, code) => {
    expect(await warningsOf(cafeLines(spoilings[spoiling]))).toMatchObject([
      { code, rowCount: 635, lines: [2, 3, 4, 5, 6] },
    ]);
  });
});

describe("ids that a spreadsheet program has changed", () => {
  test.each(["8.21541E+08", "17850.0", "2-Jan", "TRUE", "=A2", "#REF!", "2026/01/02", "1月2日"])(
    "%s",
    async (userId) => {
      const lines = ["u1,1,", "u2,2,", `${userId},3,`, "u4,4,"];
      const found = [{ code: "IDS_CHANGED", rowCount: 1, lines: [4], detail: userId }];
      expect(await warningsOf(lines)).toEqual(found);
      expect(await codesOf(lines, { ofSheet: [userId] })).toEqual([]);
    },
  );

  test("are counted together, in the order of their lines", async () => {
    const lines = ["1.0,1,", "TRUE,2,", "u,3,", "2.0,4,", "FALSE,5,", "3.0,6,", "4.0,7,"];
    expect(await warningsOf(lines)).toEqual([
      { code: "IDS_CHANGED", rowCount: 6, lines: [2, 3, 5, 6, 7], detail: "1.0" },
    ]);
  });

  test("are not those with fractions of their own", async () => {
    expect(await codesOf(["1.0,1,", "1.1,2,", "2.0,3,"])).toEqual([]);
  });

  test("are shown by their first 64 bytes", async () => {
    const [warning] = await warningsOf([`=${"x".repeat(100)},1,`]);
    expect(warning?.detail).toBe(`=${"x".repeat(63)}`);
  });
});

describe("leading zeros are lost", () => {
  test("where other rows have kept them", async () => {
    const lines = ["09012345678,1,", "9012345679,2,", "9012345670,3,", "08012345678,4,"];
    const found = { code: "LEADING_ZEROS_LOST", rowCount: 2, lines: [3, 4], detail: "9012345679" };
    expect(await warningsOf(lines)).toEqual([found]);
    const ofSheet = ["9012345679", "9012345670"];
    expect(await codesOf(lines, { ofSheet })).toEqual([]);
  });

  test("of numbers that had several of them", async () => {
    expect(await warningsOf(["0007,1,", "0123,2,", "8,3,", "124,4,", "1234,5,"])).toMatchObject([
      { rowCount: 2, lines: [4, 5], detail: "8" },
    ]);
  });

  test("where accounts of the program have them", async () => {
    const ofProgram = ["0821541000", "0821541001", "ann", "ben"];
    expect(await codesOf(["821541002,1,"], { ofProgram })).toEqual(["LEADING_ZEROS_LOST"]);
    // One account in many proves nothing.
    const many = Array.from({ length: 60 }, (_, i) => String(1_000_000 + i));
    expect(await codesOf(["821541002,1,"], { ofProgram: [...many, "0821541000"] })).toEqual([]);
  });

  test("not of ids of other lengths", async () => {
    const lines = ["09012345678,1,", "08012345678,2,", "17850,3,", "13047,4,", "12345678901,5,"];
    expect(await codesOf(lines)).toEqual([]);
  });

  test("not in few rows or among other ids, by their form alone", async () => {
    const phones = Array.from({ length: 10 }, (_, i) => `90${10_000_000 + i * 977},${i + 1},`);
    expect(await codesOf(phones)).toEqual(["LEADING_ZEROS_LOST"]);
    expect(await codesOf(phones.slice(1))).toEqual([]);
    expect(await codesOf([...phones, "ann,7,"])).toEqual(["LEADING_ZEROS_LOST"]);
    expect(await codesOf([...phones, "ann,7,", "ben,8,"])).toEqual([]);
  });

  test.each<[name: string, idOf: (i: number) => string]>([
    ["numbers from 1 on", (i) => String(i + 1)],
    ["numbers of one length", (i) => String(10_000 + i * 37)],
    ["numbers that begin with zeros", (i) => String(i).padStart(3, "0")],
    ["numbers of phones abroad", (i) => `+8190${10_000_000 + i * 977}`],
    ["emails", (i) => `member${i}@example.com`],
    ["UUIDs", (i) => `f47ac10b-58cc-4372-a567-${String(i).padStart(12, "0")}`],
    ["hexadecimal numbers", (i) => (0x12e4 + i * 251).toString(16)],
    ["numbers with an E", (i) => `${i + 1}e${i % 10}`],
  ])("not of %s", async (_, idOf) => {
    const points = spread(635);
    expect(await warningsOf(points.map((each, i) => `${idOf(i)},${each},`))).toEqual([]);
  });
});

describe("a last row that is the sum of the others", () => {
  const points = [3, 10, 20, 40, 80];

  test("is warned of with its line", async () => {
    expect(await warningsOf(linesOf([...points, 153]))).toEqual([
      { code: "LAST_ROW_IS_SUM", rowCount: 1, lines: [7], detail: "153" },
    ]);
    expect(await codesOf(linesOf([...points, 152]))).toEqual([]);
    expect(await codesOf(linesOf([153, ...points]))).toEqual([]);
  });

  test("of fewer rows only under the name of a sum, or none", async () => {
    expect(await codesOf(linesOf([...points.slice(1), 150]))).toEqual([]);
    for (const name of ["", "Total", "合計", "grand total"]) {
      expect(await codesOf(["u1,3,", "u2,4,", `${name},7,`])).toEqual(["LAST_ROW_IS_SUM"]);
      expect(await codesOf(["u1,7,", `${name},7,`])).toEqual([]);
    }
  });

  test("is none of a user with an account", async () => {
    expect(await codesOf(linesOf([...points, 153]), { ofSheet: ["u5"] })).toEqual([]);
  });

  test("also when it is more than a row may have", async () => {
    const lines = linesOf([900_000_000, 900_000_000, 1, 2, 3]);
    expect(await codesOf([...lines, "x,1800000006,"])).toEqual(["LAST_ROW_IS_SUM"]);
  });

  test("is no row of 0 points", async () => {
    expect(await codesOf(linesOf([0, 0, 0, 0, 0, 0]))).toEqual(["POINTS_ZERO"]);
  });
});

describe("users without an account", () => {
  const ofProgram = Array.from({ length: 100 }, (_, i) => `m${i}`);
  const lines = linesOf([1, 2, 3, 4, 5, 6, 7]);

  test("are warned of in a program that has many", async () => {
    const ofSheet = ["u0", "u2", "u3"];
    expect(await warningsOf(lines, { ofSheet, ofProgram })).toEqual([
      { code: "WITHOUT_ACCOUNT", rowCount: 4, lines: [3, 6, 7, 8], detail: "7" },
    ]);
    const few = ofProgram.slice(1);
    expect(await codesOf(lines, { ofSheet, ofProgram: few })).toEqual([]);
  });

  test("are those of right rows", async () => {
    const ofSheet = ["u0", "u2", "u3"];
    expect(await warningsOf(["u0,x,", "u1,x,", "u2,1,"], { ofSheet, ofProgram })).toEqual([]);
  });

  test("are not warned of when all have one, and nothing is read", async () => {
    const collector = createSheetWarnings();
    collector.add({ line: 2, userId: "u1", points: 1, reason: "" }, true);
    expect(await collector.result(expect.unreachable)).toEqual([]);
  });
});

describe("far more points than the others", () => {
  const usual = Array.from({ length: 97 }, () => 100);

  test("are warned of when nearly all have the same, also when they are meant", async () => {
    expect(await warningsOf(linesOf([...usual, 5_000, 5_000, 5_000]))).toEqual([
      { code: "FAR_MORE_POINTS", rowCount: 3, lines: [99, 100, 101], detail: "100" },
    ]);
    expect(await codesOf(linesOf([1_000, ...usual]))).toEqual(["FAR_MORE_POINTS"]);
    expect(await codesOf(linesOf([999, ...usual]))).toEqual([]);
  });

  test("are not when the points differ, or of few rows", async () => {
    expect(await codesOf(linesOf([9_000, ...spread(99)]))).toEqual([]);
    expect(await codesOf(linesOf([...usual.slice(0, 9), 5_000]))).toEqual(["FAR_MORE_POINTS"]);
    expect(await codesOf(linesOf([...usual.slice(0, 8), 5_000]))).toEqual([]);
    expect(await codesOf(linesOf([...usual.slice(0, 8), 5_000, 5_000]))).toEqual([]);
  });

  test("are found among as many rows as a sheet may have", async () => {
    const collector = createSheetWarnings();
    for (let i = 0; i < 200_000; i++) {
      const points = i === 777 ? 1_000 : 100;
      collector.add({ line: i + 2, userId: `u${i}`, points, reason: "" }, false);
    }
    const found = await collector.result(async () => []);
    expect(found).toMatchObject([{ code: "FAR_MORE_POINTS", lines: [779] }]);
  });
});

test("reasons that are error values are warned of", async () => {
  expect(await warningsOf(["u1,1,#N/A", "u2,2,spring", "u3,3, #REF! "])).toEqual([
    { code: "REASON_ERROR_VALUE", rowCount: 2, lines: [2, 4], detail: "#N/A" },
  ]);
});

test("rows of 0 points are warned of, and other malformed points are not", async () => {
  expect(await warningsOf(["u1,0,", "u2,2,", "u3,000,", "u4,-0,", "u5,x,", "u6,,"])).toEqual([
    { code: "POINTS_ZERO", rowCount: 2, lines: [2, 4], detail: "" },
  ]);
});

test("a sheet of one to three rows has no warning by its numbers", async () => {
  expect(await codesOf(["9012345678,100,"])).toEqual([]);
  expect(await codesOf(["9012345678,100,", "8012345678,100,"])).toEqual([]);
  expect(await codesOf(["9012345678,100,", "8012345678,200,", "7012345678,300,"])).toEqual([]);
  expect(await codesOf(["a,1,", "b,1,", "c,100000,"])).toEqual([]);
});
