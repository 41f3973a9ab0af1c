/** Tests of reading sheets: encodings, forms of CSV, headers, and what is wrong with rows. */
import { describe, expect, test } from "vitest";
import { maxRows, maxSheetBytes } from "../../../src/bulk-grants/rules/sheet.ts";
import { readSheet } from "../../../src/bulk-grants/use-cases/read-sheet.ts";
import { bytesOf, context, read } from "../../support/fixtures/sheets.ts";

const header = "user_id,points,reason\n";
const row = (line: number, userId: string, points: number, reason = "") => ({
  line,
  userId,
  points,
  reason,
});
const refusal = (code: string, line: number) => ({
  name: "DomainError",
  reason: "INVALID_REQUEST",
  metadata: { field: "csv", code, line: String(line) },
});

/** "日本", "ソ" (whose second byte is a backslash), "①" and half-width "ﾃｽﾄ" in Shift_JIS. */
const sjis = {
  nippon: [0x93, 0xfa, 0x96, 0x7b],
  so: [0x83, 0x5c],
  one: [0x87, 0x40],
  tesuto: [0xc3, 0xbd, 0xc4],
};
const ascii = (text: string) => [...Buffer.from(text, "ascii")];

describe("an encoding", () => {
  const rows = [row(2, "u1", 10, "日本ソ①")];

  test("is UTF-8 without a BOM", async () => {
    expect(await read(`${header}u1,10,日本ソ①\n`)).toEqual({ rows });
  });

  test("is UTF-8 with a BOM", async () => {
    expect(await read(`\ufeff${header}u1,10,日本ソ①\n`)).toEqual({ rows });
  });

  test("is Shift_JIS", async () => {
    const bytes = [...ascii(`${header}u1,10,`), ...sjis.nippon, ...sjis.so, ...sjis.one];
    expect(await read(bytes)).toEqual({ rows });
  });

  test("is Shift_JIS after a long head in ASCII, in chunks that split the characters", async () => {
    const head = Array.from({ length: 5_000 }, (_, index) => `u${index},1,plain\n`).join("");
    const bytes = [...ascii(`${header}${head}u-last,10,`), ...sjis.nippon, 10];
    const { rows, error } = await read(bytes, 7);
    expect(error).toBeUndefined();
    expect(rows).toHaveLength(5_001);
    expect(rows.at(-1)).toEqual(row(5_002, "u-last", 10, "日本"));
  });

  test("is Shift_JIS where the first two characters would be UTF-8, too", async () => {
    const bytes = [
      ...ascii(`${header}u1,10,`),
      ...sjis.tesuto,
      ...ascii("\nu2,10,\\~"),
      ...sjis.nippon,
    ];
    expect(await read(bytes)).toEqual({
      rows: [row(2, "u1", 10, "ﾃｽﾄ"), row(3, "u2", 10, "\\~日本")],
    });
  });

  test.each([
    ["is UTF-8 first and something else later", [0xe6, 0x97, 0xa5, 10, ...sjis.nippon], 3],
    ["is neither UTF-8 nor Shift_JIS", [0xa0, 0xa0], 2],
    ["is Shift_JIS with half a character at the end", [...sjis.nippon, 10, 0x93], 3],
    ["is UTF-8 with half a character at the end", [0xe6, 0x97, 0xa5, 10, 0xe6, 0x97], 3],
  ])("%s: refused", async (_, bytes, line) => {
    const { error } = await read([...ascii(header), ...bytes]);
    expect(error).toMatchObject(refusal("ENCODING_WRONG", line));
  });

  test("is not UTF-8 after a BOM: refused", async () => {
    const { error } = await read([0xef, 0xbb, 0xbf, ...ascii(header), ...sjis.nippon]);
    expect(error).toMatchObject(refusal("ENCODING_WRONG", 2));
  });

  test.each([
    ["without a BOM", Buffer.from(header, "utf16le")],
    ["that begins in Japanese", Buffer.from("ユーザーID,ポイント\n", "utf16le")],
  ])("is UTF-16 %s: refused by its name", async (_, bytes) => {
    const { error } = await read([...bytes]);
    expect(error).toMatchObject(refusal("NUL_BYTE", 1));
    expect(String(error)).toContain("the sheet is in UTF-16; name it, or save it as CSV in UTF-8");
  });

  test("is an old workbook of Excel: refused by its name", async () => {
    const { error } = await read([...Buffer.from("d0cf11e0a1b11ae1", "hex")]);
    expect(error).toMatchObject(refusal("NUL_BYTE", 1));
    expect(String(error)).toContain("the file is an old workbook (.xls), or one with a password");
  });

  test("has a line number after CRLF, CR and LF", async () => {
    const { error } = await read("user_id,points\r\nu1,1\ru2,2\nu3,3\r\nu4,\0\r\n");
    expect(error).toMatchObject(refusal("NUL_BYTE", 5));
  });
});

describe("a form of CSV", () => {
  const rows = [
    { userId: "u1", points: 1, reason: "" },
    { userId: "u2", points: 2, reason: "" },
  ];

  test.each([
    ["has LF", "user_id,points\nu1,1\nu2,2\n"],
    ["has CRLF", "user_id,points\r\nu1,1\r\nu2,2\r\n"],
    ["has CR", "user_id,points\ru1,1\ru2,2\r"],
    ["has no end of the last line", "user_id,points\nu1,1\nu2,2"],
    ["has mixed ends of lines", "user_id,points\r\nu1,1\nu2,2\r"],
    ["has quotes around everything", '"user_id","points"\n"u1","1"\n"u2","2"\n'],
    ["has spaces around points", "user_id,points\nu1, 1 \nu2,\u30002\n"],
    ["has blanks around user ids", "user_id,points\n u1,1\nu2\u00a0\u3000,2\n"],
    ["has names in Japanese", "ユーザーID,ポイント\nu1,1\nu2,2\n"],
    ["has Japanese names in half and full width", "ユーザーＩＤ,ﾎﾟｲﾝﾄ\nu1,1\nu2,2\n"],
    ["has Japanese names with blanks", " 理由,\u3000ﾕｰｻﾞｰid ,ポイント\u00a0\n,u1,1\n,u2,2\n"],
    ["has names in capitals and with spaces", "User_ID, POINTS \nu1,1\nu2,2\n"],
    ["has the columns the other way round", "points,user_id\n1,u1\n2,u2\n"],
    ["has leading zeros", "user_id,points\nu1,01\nu2,0002\n"],
    ["ends with blank lines", "user_id,points\nu1,1\nu2,2\n\n\r\n,\n , \n"],
    ["has blank lines with more cells", ",,,\nuser_id,points\n,\n,,\nu1,1\nu2,2\n  \n"],
  ])("%s", async (_, csv) => {
    const found = await read(csv);
    expect(found.rows.map(({ line: _, ...cells }) => cells)).toEqual(rows);
    expect(found.error).toBeUndefined();
  });

  test("has blank lines, which count as lines", async () => {
    expect(await read("\n\nuser_id,points\n\nu1,1\n,\nu2,2")).toEqual({
      rows: [row(5, "u1", 1), row(7, "u2", 2)],
    });
  });

  test("has commas, quotes and line breaks in quotes, all in one line", async () => {
    expect(await read(`${header}u1,1,"a, ""b""\r\n\nc\rd"\r\nu2,2,"e"\r\n`)).toEqual({
      rows: [
        {
          ...row(2, "u1", 1, 'a, "b"\r\n\nc\rd'),
          problems: [
            {
              code: "REASON_MALFORMED",
              detail: 'found `a, "b"<U+000D><U+000A><U+000A>c<U+000D>d`: a blank, a line break',
            },
          ],
        },
        row(3, "u2", 2, "e"),
      ],
    });
  });

  test("has apostrophes before what would be formulas", async () => {
    const cells = ["'=1+1", "'+a", "'-a", "'@a", "'＝a", "''=a", "'a", "'"];
    const expected = ["=1+1", "+a", "-a", "@a", "＝a", "'=a", "'a", "'"];
    const { rows } = await read(
      `${header}${cells.map((cell, index) => `u${index},1,${cell}\n`).join("")}'+81,'-1,\n`,
    );
    expect(rows.map(({ reason }) => reason)).toEqual([...expected, ""]);
    expect(rows.at(-1)).toMatchObject({ userId: "+81", rawPoints: "-1" });
  });

  test("is an export", async () => {
    const csv =
      "user_id,points,reason,bulk_grant_id,revision,line,error_code,error\n" +
      "u1,1,r,summer,3,77,USER_TWICE,whatever\nu2,2,,,,,,\nu3,3,, summer ,,,,\nu4,4,,winter,,,,\n";
    expect(await read(csv)).toEqual({
      rows: [
        row(2, "u1", 1, "r"),
        row(3, "u2", 2),
        row(4, "u3", 3),
        { ...row(5, "u4", 4), problems: [{ code: "OTHER_BULK_GRANT", detail: "winter" }] },
      ],
    });
  });
});

describe("a sheet is refused that", () => {
  test.each([
    ["has no bytes", "", "EMPTY", 1],
    ["has only a BOM", "\ufeff", "EMPTY", 1],
    ["has only blank lines", "\n\r\n,,\n", "EMPTY", 1],
    ["has only a header", "user_id,points\n", "EMPTY", 1],
    ["has only a header and blank lines", "\nuser_id,points\n\n,\n", "EMPTY", 2],
    ["has no header", "u1,100\nu2,200\n", "HEADER_MISSING", 1],
    ["has other names only", "\nname,amount\n", "HEADER_MISSING", 2],
    ["has an unknown column", "user_id,points,note\nu1,1,x\n", "COLUMN_UNKNOWN", 1],
    [
      "has a column named as a property of all objects",
      "user_id,points,constructor\nu1,1,x\n",
      "COLUMN_UNKNOWN",
      1,
    ],
    ["has a column twice", "user_id,points,USER_ID\nu1,1,u1\n", "COLUMN_TWICE", 1],
    ["has no user_id", "points,reason\n1,x\n", "COLUMN_MISSING", 1],
    ["has no points", "user_id,reason\nu1,x\n", "COLUMN_MISSING", 1],
    ["has a NUL byte", "user_id,points\nu1,1\nu2,\0\n", "NUL_BYTE", 3],
    ["has a quote never closed in its header", '\n"user_id,points\nu1,1\n', "QUOTE_NOT_CLOSED", 2],
    ["has a quote in a name", 'user_id,points,a"b\nu1,1,\n', "CSV_MALFORMED", 1],
    ["has a very long header", `user_id,points,${"x".repeat(65_536)}\n`, "LINE_TOO_LONG", 1],
    ["has tabs", "user_id\tpoints\nu1\t1\n", "HEADER_MISSING", 1],
  ])("%s", async (_, csv, code, line) => {
    expect((await read(csv)).error).toMatchObject(refusal(code, line));
  });

  test.each([
    ["semicolons", "user_id;points\nu1;1\n"],
    ["tabs", "user_id\tpoints\treason\nu1\t1\t\n"],
    ["vertical bars", "ポイント|ユーザーID\n1|u1\n"],
    ["full-width commas", "ユーザーID，ポイント\nu1，1\n"],
  ])("has %s between its cells, which the message says", async (name, csv) => {
    const { error } = await read(csv);
    expect(error).toMatchObject(refusal("HEADER_MISSING", 1));
    expect(String(error)).toContain(`the cells are separated by ${name}; save the sheet`);
  });

  test("has several faults in the first line, which are all said", async () => {
    const { error } = await read("user_id,name,Memo,user_id\nu1,x,y,u1\n");
    expect(error).toMatchObject(refusal("COLUMN_UNKNOWN", 1));
    expect(String(error)).toContain(
      "column 2 is not known: found `name`; column 3 is not known: found `Memo`; " +
        "column 4, user_id, is there twice; the column points is missing",
    );
  });

  test("has a broken header, whose other faults are said, too", async () => {
    const { error } = await read('user_id,\u200bpoints,user_id,"reason\nu1,1,u1,\n');
    expect(error).toMatchObject(refusal("QUOTE_NOT_CLOSED", 1));
    expect(String(error)).toContain(
      'a quote is opened and not closed; found `"reason`; ' +
        "column 2 is not known: found `<U+200B>points`: a zero-width character at the start; " +
        "column 3, user_id, is there twice",
    );
  });

  test("has another first line, which is shown", async () => {
    const { error } = await read("会員,点数\nu1,1\n");
    expect(String(error)).toContain("user_id, points and maybe reason; found `会員,点数`");
  });

  test("has one row more than a sheet may have", async () => {
    const body = Array.from({ length: maxRows }, (_, index) => `u${index},1\n`).join("");
    const whole = await read(`user_id,points\n${body}\n`);
    expect(whole.error).toBeUndefined();
    expect(whole.rows).toHaveLength(maxRows);
    const { rows, error } = await read(`user_id,points\n${body}u,1\n`);
    expect(rows).toHaveLength(maxRows);
    expect(error).toMatchObject(refusal("TOO_MANY_ROWS", maxRows + 2));
  });

  test("has one byte more than a sheet may have", async () => {
    const head = "user_id,points\nu1,1\n";
    const csv = head + "\n".repeat(maxSheetBytes - head.length);
    expect(csv).toHaveLength(maxSheetBytes);
    expect(await read(csv)).toEqual({ rows: [row(2, "u1", 1)] });
    const { rows, error } = await read(`${csv}\n`);
    expect(rows).toEqual([row(2, "u1", 1)]);
    expect(error).toMatchObject({ metadata: { code: "TOO_LARGE" } });
  });
});

describe("a row", () => {
  const malformedPoints = ["-1", "+1", '"1,000"', "1e3", "1.0", "１０", "1 0", "0x10"];
  const badReason = ["REASON_TOO_LONG", "REASON_MALFORMED"];
  const rowOf = async (cells: string) => (await read(`${header}${cells}\n`)).rows[0];

  test.each([
    [",1,", "USER_MISSING"],
    ["u\u00a01,1,", "USER_MALFORMED"],
    ["u#1,1,", "USER_MALFORMED"],
    ["ユーザー,1,", "USER_MALFORMED"],
    [`${"u".repeat(129)},1,`, "USER_MALFORMED"],
    ["u1,,", "POINTS_MISSING"],
    ...malformedPoints.map((points) => [`u1,${points},`, "POINTS_MALFORMED"]),
    ["u1,0,", "POINTS_ZERO"],
    ["u1, 00 ,", "POINTS_ZERO"],
    ["u1,1000001,", "POINTS_ABOVE_CAP"],
    ["u1,99999999999999999999999999,", "POINTS_ABOVE_CAP"],
    [`u1,1,${"x".repeat(129)}`, "REASON_TOO_LONG"],
    [`u1,1,${"あ".repeat(43)}`, "REASON_TOO_LONG"],
    ["u1,1,a\tb", "REASON_MALFORMED"],
    ['u1,1,"a\nb"', "REASON_MALFORMED"],
    ["u1,1,a\u202eb", "REASON_MALFORMED"],
    ["u1,1,a\ue000b", "REASON_MALFORMED"],
    ["u1", "COLUMNS_DIFFER"],
    ["u1,1,thanks, Ben", "COLUMNS_DIFFER"],
    [",,x", "USER_MISSING", "POINTS_MISSING"],
    [`,x,\t${"x".repeat(128)}`, "USER_MISSING", "POINTS_MALFORMED", ...badReason],
    [`u 1,1000001,\t${"x".repeat(128)}`, "USER_MALFORMED", "POINTS_ABOVE_CAP", ...badReason],
    ["u 1", "COLUMNS_DIFFER", "USER_MALFORMED"],
  ])("%j has the problems %s, %s, %s, %s", async (cells = "", ...codes) => {
    const problems = codes.map((code) => ({ code }));
    expect(await rowOf(cells)).toMatchObject({ line: 2, problems });
  });

  test("of an export has all that is wrong with it, in the order of the checks", async () => {
    const csv =
      "bulk_grant_id,reason,points,user_id\n" +
      `summer,,1,u1\nwinter,${"x".repeat(129)},1.5,u 2\nwinter,,,u1,x\n`;
    const { rows } = await read(csv);
    expect(rows.map(({ problems }) => problems?.map(({ code }) => code))).toEqual([
      undefined,
      ["OTHER_BULK_GRANT", "USER_MALFORMED", "POINTS_MALFORMED", "REASON_TOO_LONG"],
      ["COLUMNS_DIFFER", "OTHER_BULK_GRANT", "USER_TWICE", "POINTS_MISSING"],
    ]);
  });

  test.each([
    [`${"u".repeat(128)},1,`],
    ["!\"$%&'()*+-./:;<=>?@[]^_`{|}~,1,".replace('"', "")],
    ["u1,1000000,"],
    [`u1,1,${"x".repeat(128)}`],
    [`u1,1,${"あ".repeat(42)}`],
  ])("%j has no problem", async (cells) => {
    expect(await rowOf(cells)).not.toHaveProperty("problems");
  });

  test("names the limit, the number of columns or the first line", async () => {
    const csv = `${header}u1,2000000,\nu2\nu1,1,\nu1,1,\n`;
    expect(await read(csv)).toEqual({
      rows: [
        { ...row(2, "u1", 2_000_000), problems: [{ code: "POINTS_ABOVE_CAP", detail: "1000000" }] },
        {
          ...row(3, "u2", 0),
          rawPoints: "",
          problems: [{ code: "COLUMNS_DIFFER", detail: "1" }],
        },
        { ...row(4, "u1", 1), problems: [{ code: "USER_TWICE", detail: "2" }] },
        { ...row(5, "u1", 1), problems: [{ code: "USER_TWICE", detail: "2" }] },
      ],
    });
  });

  test("has the cap of a grant where the program allows more", async () => {
    const rows = [];
    const csv = bytesOf(Buffer.from("user_id,points\nu1,1000000001\nu2,1000000000\n"));
    for await (const one of readSheet(csv, { ...context, maxPointsPerRow: 10 ** 12 })) {
      rows.push(one);
    }
    expect(rows).toEqual([
      {
        ...row(2, "u1", 0),
        rawPoints: "1000000001",
        problems: [{ code: "POINTS_ABOVE_CAP", detail: "1000000000" }],
      },
      row(3, "u2", 10 ** 9),
    ]);
  });

  test("keeps 256 bytes of malformed values", async () => {
    const long = "あ".repeat(300);
    expect(await rowOf(`${long},${long},${long}`)).toEqual({
      line: 2,
      userId: "あ".repeat(85),
      points: 0,
      rawPoints: "あ".repeat(85),
      reason: "あ".repeat(85),
      problems: [
        { code: "USER_MALFORMED", detail: `found \`${"あ".repeat(21)}\`` },
        { code: "POINTS_MALFORMED", detail: `found \`${"あ".repeat(21)}\`` },
        { code: "REASON_TOO_LONG", detail: "900" },
      ],
    });
  });
});

describe("the source of a sheet", () => {
  test("has its own error thrown, after the rows before it", async () => {
    const failure = new Error("cut off");
    const rows: unknown[] = [];
    async function* source() {
      yield Buffer.from(`${header}u1,1,\nu2,2,\nu3,3,`);
      throw failure;
    }
    const reading = async () => {
      for await (const one of readSheet(source(), context)) rows.push(one);
    };
    await expect(reading()).rejects.toBe(failure);
    expect(rows).toEqual([row(2, "u1", 1), row(3, "u2", 2)]);
  });

  test("is closed when the reader stops", async () => {
    let isClosed = false;
    async function* source() {
      try {
        for (let index = 0; ; index++) {
          yield Buffer.from(index === 0 ? header : `u${index},1,\n`);
        }
      } finally {
        isClosed = true;
      }
    }
    for await (const one of readSheet(source(), context)) if (one.line > 3) break;
    expect(isClosed).toBe(true);
  });
});
