/** Tests of the encodings of sheets: what is taken without a name, and that names are exact. */
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import type { SheetEncoding } from "../../../src/bulk-grants/rules/sheet-reading.ts";
import { decodeBytes, type LineEncoding } from "../../../src/bulk-grants/use-cases/encodings.ts";
import { read, readingOf } from "../../support/fixtures/sheets.ts";

const header = "user_id,points,reason\n";

/** A sheet with a reason in an encoding of iconv-lite. */
const sheetOf = (reason: string, encoding: string): Buffer =>
  Buffer.concat([Buffer.from(`${header}u1,1,`), iconv.encode(reason, encoding), Buffer.from("\n")]);

const refusal = (line: number) => ({
  reason: "INVALID_REQUEST",
  metadata: { field: "csv", code: "ENCODING_WRONG", line: String(line) },
});

/** Languages, and the encodings that their computers have beside UTF-8. */
const languages: Readonly<Record<string, readonly string[]>> = {
  fr: ["windows-1252", "macintosh", "cp850"],
  es: ["windows-1252", "macintosh", "cp850"],
  pt: ["windows-1252", "macintosh"],
  de: ["windows-1252", "macintosh"],
  it: ["windows-1252"],
  nl: ["windows-1252"],
  sv: ["windows-1252"],
  da: ["windows-1252"],
  fi: ["windows-1252"],
  nb: ["windows-1252"],
  is: ["windows-1252"],
  ca: ["windows-1252"],
  pl: ["windows-1250"],
  cs: ["windows-1250"],
  hu: ["windows-1250"],
  ro: ["windows-1250"],
  hr: ["windows-1250"],
  ru: ["windows-1251", "koi8-r", "cp866"],
  uk: ["windows-1251"],
  bg: ["windows-1251"],
  el: ["windows-1253"],
  tr: ["windows-1254"],
  he: ["windows-1255"],
  ar: ["windows-1256"],
  lv: ["windows-1257"],
  et: ["windows-1257"],
  th: ["windows-874"],
  ko: ["cp949"],
  "zh-Hans": ["gbk"],
  "zh-Hant": ["big5"],
  ja: ["euc-jp", "cp932"],
};

const alphabet = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const codes = alphabet.flatMap((first) => alphabet.map((second) => first + second));

/** The names of countries and languages in a language, from CLDR, that are not all ASCII. */
function namesIn(language: string): string[] {
  const options = { fallback: "none" } as const;
  const regions = new Intl.DisplayNames([language], { type: "region", ...options });
  const spoken = new Intl.DisplayNames([language], { type: "language", ...options });
  const names = codes.flatMap((code) => [regions.of(code), spoken.of(code.toLowerCase())]);
  return [...new Set(names)].filter((name = "") => /[^\0-\x7f]/.test(name)) as string[];
}

/** The names that the encoding has, as sheets of one row. */
const sheetsIn = (language: string, encoding: string) =>
  namesIn(language)
    .filter((name) => iconv.decode(iconv.encode(name, encoding), encoding) === name)
    .map((name) => ({ name, sheet: sheetOf(name, encoding) }))
    .filter(({ sheet }) => sheet.some((byte) => byte > 0x7f));

/** How many names are read as other texts, and how many as they are. */
async function readNames(language: string, encoding: string, named?: SheetEncoding) {
  let [wrong, right] = [0, 0];
  const sheets = sheetsIn(language, encoding);
  for (const { name, sheet } of sheets) {
    const { rows, error } = await read(sheet, undefined, { encoding: named });
    if (error) continue;
    if (rows[0]?.reason === name) right += 1;
    else wrong += 1;
  }
  return { wrong, right, count: sheets.length };
}

describe("without a name for the encoding", () => {
  const foreign = Object.entries(languages).flatMap(([language, encodings]) =>
    encodings.filter((each) => each !== "cp932").map((encoding) => [language, encoding] as const),
  );

  test("at most 1 % of the names in any language are read as another text", async () => {
    const found: string[] = [];
    let [wrongs, counts] = [0, 0];
    for (const [language, encoding] of foreign) {
      const { wrong, right, count } = await readNames(language, encoding);
      wrongs += wrong;
      counts += count;
      expect(right).toBe(0);
      if (wrong > count / 100) found.push(`${language} in ${encoding}: ${wrong} of ${count}`);
    }
    expect(found).toEqual([]);
    expect(counts).toBeGreaterThan(8_000);
    // Some names of one word are UTF-8 or Japanese by accident.
    expect(wrongs).toBeLessThan(counts / 1_000);
  });

  test("no sheet with all names of a language is read", async () => {
    for (const [language, encoding] of foreign) {
      const rows = sheetsIn(language, encoding).map(({ sheet }) => sheet.subarray(header.length));
      const { error } = await read(Buffer.concat([Buffer.from(header), ...rows]));
      expect(error, `${language} in ${encoding}`).toMatchObject({
        metadata: { code: "ENCODING_WRONG" },
      });
    }
  });

  test("every name in Japanese is read from Shift_JIS, and from UTF-8", async () => {
    const { right, count } = await readNames("ja", "cp932");
    expect(right).toBe(count);
    const utf8 = await readNames("ja", "utf-8");
    expect(utf8.right).toBe(utf8.count);
  });

  test.each([
    ["Valentine’s Day", "windows-1252", "Windows-1252"],
    ["café", "windows-1252", "Windows-1252"],
    ["봄맞이 행사", "cp949", "EUC-KR"],
    ["春节优惠活动", "gbk", "GBK"],
    ["春節活動積分贈送", "big5", "Big5"],
    ["春のキャンペーン", "euc-jp", "EUC-JP"],
    ["ｽﾌﾟﾘﾝｸﾞｾｰﾙ", "cp932", "Shift_JIS"],
  ])("%s in %s is refused with a guess", async (reason, encoding, guess) => {
    const { error } = await read(sheetOf(reason, encoding));
    expect(error).toMatchObject(refusal(2));
    expect(String(error)).toContain(`the encoding looks like ${guess}; name it, or save it as CSV`);
  });

  test("names in UTF-8 of whose last character a program has cut bytes are refused", async () => {
    const names = [
      ...namesIn("ja"),
      ...namesIn("zh-Hans"),
      ...namesIn("ko"),
      "ありがとうございます",
    ];
    let count = 0;
    for (const name of names) {
      const bytes = Buffer.from(name);
      for (let end = 1; end < bytes.length; end++) {
        const isCut = ((bytes[end] ?? 0) & 0xc0) === 0x80;
        if (!isCut) continue;
        count += 1;
        const line = Buffer.concat([Buffer.from("u1,1,"), bytes.subarray(0, end)]);
        const { error } = await read(Buffer.concat([Buffer.from(header), line]));
        expect(error, `${name} in ${end} bytes`).toMatchObject(refusal(2));
      }
    }
    expect(count).toBeGreaterThan(10_000);
  });

  test.each(["ﾔﾏﾀﾞ ﾀﾛｳ", "ｽｽﾞｷ", "ﾃｽﾄ"])("%s in EUC-JP is no Shift_JIS", async (reason) => {
    const { error } = await read(sheetOf(reason, "euc-jp"));
    expect(error).toMatchObject(refusal(2));
  });

  test.each(["春", "A社", "自社", "第1回", "１００円"])(
    "%s alone is not certain",
    async (reason) => {
      const { error } = await read(sheetOf(reason, "cp932"));
      expect(error).toMatchObject(refusal(2));
      expect(await read(sheetOf(reason, "cp932"), undefined, { encoding: "shift_jis" })).toEqual({
        rows: [{ line: 2, userId: "u1", points: 1, reason }],
      });
    },
  );

  test.each(["お誕生日", "来店", "Tシャツ", "A社のB社", "SNS投稿", "ポイントUP"])(
    "%s alone is Shift_JIS",
    async (reason) => {
      const { rows, error } = await read(sheetOf(reason, "cp932"));
      expect(error).toBeUndefined();
      expect(rows[0]?.reason).toBe(reason);
    },
  );

  test("names in Japanese in the first line make half-width reasons certain", async () => {
    const csv = iconv.encode("会員番号,ポイント数,理由\nu1,1,ﾃｽﾄ\n", "cp932");
    const { rows } = await read(csv);
    expect(rows[0]?.reason).toBe("ﾃｽﾄ");
  });
});

/** The characters beyond ASCII of an encoding, with their one or two bytes. */
function charactersOf(encoding: LineEncoding): (readonly [bytes: Buffer, character: string])[] {
  const found: (readonly [Buffer, string])[] = [];
  const add = (...bytes: number[]) => {
    const text = decodeBytes(Buffer.from(bytes), encoding);
    if (text !== undefined && [...text].length === 1) found.push([Buffer.from(bytes), text]);
  };
  for (let first = 0x80; first <= 0xff; first++) {
    add(first);
    for (let second = 0x40; second <= 0xfe; second++) add(first, second);
  }
  return found;
}

describe("an encoding that is named", () => {
  test.each([
    [undefined, "あ"],
    ["shift_jis" as const, ""],
  ])("Shift_JIS (%s) has 9,667 characters, private ones among them", async (encoding, kana) => {
    const characters = charactersOf("shift_jis");
    expect(characters).toHaveLength(9_667);
    const lines = characters.map(([bytes], i) =>
      Buffer.concat([iconv.encode(`u${i},1,${kana}`, "cp932"), bytes, Buffer.from("\n")]),
    );
    const sheet = Buffer.concat([Buffer.from(header), ...lines]);
    const { rows, error } = await read(sheet, undefined, { encoding });
    expect(error).toBeUndefined();
    let privateCount = 0;
    for (const [i, [bytes, character]] of characters.entries()) {
      const { reason, problems } = rows[i] ?? {};
      const isPrivate = /\p{Co}/u.test(character);
      if (isPrivate) privateCount += 1;
      else expect(iconv.decode(bytes, "cp932")).toBe(character);
      expect(reason).toBe(kana + character);
      expect(problems?.[0]?.code).toBe(isPrivate ? "REASON_MALFORMED" : undefined);
    }
    expect(privateCount).toBe(1_880);
  });

  test("EUC-KR has all 11,172 syllables of Hangul, each once", () => {
    const characters = charactersOf("euc-kr").map(([, character]) => character);
    const syllables = characters.filter((each) => each >= "\uac00" && each <= "\ud7a3");
    expect(new Set(syllables).size).toBe(11_172);
    expect(syllables).toHaveLength(11_172);
  });

  test.each<[SheetEncoding, string, string]>([
    ["windows-1252", "windows-1252", "fr"],
    ["euc-kr", "cp949", "ko"],
    ["gbk", "gbk", "zh-Hans"],
    ["big5", "big5", "zh-Hant"],
    ["euc-jp", "euc-jp", "ja"],
    ["shift_jis", "cp932", "ja"],
    ["utf-8", "utf-8", "th"],
  ])("%s reads every name", async (named, encoding, language) => {
    const { right, count } = await readNames(language, encoding, named);
    expect(right).toBe(count);
  });

  test.each<[SheetEncoding, number[]]>([
    ["utf-8", [0x93, 0xfa]],
    ["windows-1252", [0x81]],
    ["shift_jis", [0xa0, 0xa0]],
    ["euc-kr", [0xc9, 0x20]],
    ["gbk", [0xff, 0x41]],
  ])("%s refuses a line that is not in it", async (encoding, bytes) => {
    const sheet = [...Buffer.from(`${header}u1,1,a\nu2,1,`), ...bytes, 10];
    const { error } = await read(sheet, undefined, { encoding });
    expect(error).toMatchObject(refusal(3));
  });

  test("is not another one than that of the BOM", async () => {
    const { error } = await read(`\ufeff${header}u1,1,\n`, undefined, { encoding: "gbk" });
    expect(error).toMatchObject(refusal(1));
    expect(String(error)).toContain("begins with the BOM of UTF-8, and is not GBK");
  });
});

describe("UTF-16", () => {
  const csv = `${header}u1,1,日本𠮟る\r\nu2,2,b\n`;
  const rows = [
    { line: 2, userId: "u1", points: 1, reason: "日本𠮟る" },
    { line: 3, userId: "u2", points: 2, reason: "b" },
  ];
  const little = Buffer.from(`\ufeff${csv}`, "utf16le");

  test.each([
    ["with a BOM", little, undefined],
    ["of big endian with a BOM", Buffer.from(little).swap16(), undefined],
    ["that is named", Buffer.from(csv, "utf16le"), "utf-16" as const],
  ])("%s is read, in chunks of any length", async (_, bytes, encoding) => {
    for (const length of [1, 2, 3, 7, 1_000]) {
      expect(await read(bytes, length, { encoding })).toEqual({ rows });
    }
    expect(await readingOf(bytes, { encoding })).toMatchObject({ encoding: "utf-16" });
  });

  test.each([
    ["half of a surrogate pair", "\ud842"],
    ["the other half", "\udf9f"],
  ])("with %s is refused by its line", async (_, half) => {
    const bytes = Buffer.from(`\ufeff${header}u1,1,a\nu2,1,b${half}c\n`, "utf16le");
    for (const length of [1, 2, 5, 1_000]) {
      const { rows: before, error } = await read(bytes, length);
      expect(before).toHaveLength(1);
      expect(error).toMatchObject(refusal(3));
    }
  });

  test("with half a character at its end is refused", async () => {
    const { error } = await read(little.subarray(0, -1));
    expect(error).toMatchObject(refusal(3));
  });

  test("is refused by its name when another encoding is named", async () => {
    const { error } = await read(little, undefined, { encoding: "shift_jis" });
    expect(String(error)).toContain("the sheet is in UTF-16");
  });
});
