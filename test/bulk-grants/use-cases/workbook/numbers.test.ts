/** Tests of reading the numbers of a workbook exactly, and only as people see them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { numberReader } from "../../../../src/bulk-grants/use-cases/workbook/numbers.ts";
import { assertSeeds } from "../../../support/models/seeded.ts";

const plain = numberReader(undefined);

test.each([
  ["0", "0"],
  ["-0", "0"],
  ["0.0", "0"],
  ["100", "100"],
  ["100.0", "100"],
  ["8.21541E+08", "821541000"],
  ["8.21541e8", "821541000"],
  ["1.5", "1.5"],
  ["-1.50", "-1.5"],
  ["5E-2", "0.05"],
  ["0.05", "0.05"],
  [".5", "0.5"],
  ["007", "7"],
  ["999999999999999", "999999999999999"],
  ["1E+14", "100000000000000"],
  ["1.23456789012345", "1.23456789012345"],
])("%s is %s", (stored, text) => {
  expect(plain(stored)).toEqual({ text });
});

test.each([
  "1000000000000000",
  "1E+15",
  "1.23456789012345E+15",
  "0.30000000000000004",
  "123456789012345.6",
  "1E-300",
])("%s has more digits than Excel keeps", (stored) => {
  const fault = expect.stringContaining("a number of more than 15 digits, of which Excel keeps 15");
  expect(plain(stored)).toEqual({ text: stored, fault });
});

test.each(["", ".", "E5", "1e", "1,000", "0x10", "NaN", "Infinity", "1 000", "１", "1E+9999"])(
  "%j is no number",
  (stored) => {
    const { text, fault } = plain(stored);
    expect(text).toBe(stored);
    expect(fault).toBeDefined();
  },
);

test("whole numbers of up to 15 digits are exact, however they are written", async () => {
  const property = fc.asyncProperty(fc.integer({ min: 0, max: 10 ** 15 - 1 }), async (number) => {
    for (const stored of [`${number}`, number.toExponential(), `${number}.000`]) {
      expect(plain(stored)).toEqual({ text: String(number) });
    }
  });
  await assertSeeds(property, [{ seed: 20_261_129, numRuns: 300 }]);
});

test.each([
  ["General", "1234567", "1234567"],
  ["@", "1234567", "1234567"],
  ["0", "1234567", "1234567"],
  ["#,##0", "1234567", "1234567"],
  ["#,##0;[Red]\\-#,##0", "1234567", "1234567"],
  ["#,##0.00", "100", "100"],
  ["0_ ", "5", "5"],
  ["0.00E+00", "821541000", "821541000"],
  ["0000000", "1234", "0001234"],
  ["0000000", "12345678", "12345678"],
])("in the format %s, %s is %s", (pattern, stored, text) => {
  expect(numberReader(pattern)(stored)).toEqual({ text });
});

test.each(["0;[Red]0", "#,##0;[Red]#,##0", "0;0"])(
  "in the format %s, what shows no sign of a negative number is no text and no points",
  (pattern) => {
    expect(numberReader(pattern)("500")).toEqual({ text: "500" });
    const fault = expect.stringContaining("the number -500, shown as `500`");
    expect(numberReader(pattern)("-500")).toEqual({ text: "-500", fault });
  },
);

test.each([
  "yyyy/mm/dd",
  "mmm-yy",
  "m/d/yy h:mm",
  "[h]:mm:ss",
  '[$-411]ggge"年"m"月"d"日"',
  "aaa",
  'yyyy"年"m"月"',
])("the format %s is that of a date", (pattern) => {
  expect(numberReader(pattern)("45992").fault).toMatch(/^a date; /);
});

test.each([
  ["0%", "0.5", "50%"],
  ["0", "1.5", "2"],
  ["#,##0,", "123456", "123"],
  ["# ?/?", "0.5", "1/2"],
  ["000-0000", "1234567", "123-4567"],
])("in the format %s, %s is shown as %s, which no column takes", (pattern, stored, shown) => {
  const fault = expect.stringContaining(`the number ${stored}, shown as \`${shown}\``);
  expect(numberReader(pattern)(stored)).toEqual({ text: stored, fault });
});

test.each([
  ['#,##0"pt"', "1200", "1,200pt"],
  ['_ ¥* #,##0_ ;_ ¥* -#,##0_ ;_ ¥* "-"_ ;_ @_ ', "1200", "¥1,200"],
  ['"U"0000', "12", "U0012"],
  ["0000.0", "12", "0012.0"],
])("in the format %s, %s is points, but no text", (pattern, stored, shown) => {
  const textFault = expect.stringContaining(`the number ${stored}, shown as \`${shown}\``);
  expect(numberReader(pattern)(stored)).toEqual({ text: stored, textFault });
});

test.each(["[unknown format 5]", "G/標準", "0".repeat(256)])(
  "the format %s is not known",
  (pattern) => {
    expect(numberReader(pattern)("5").fault).toBe("a number format that is not known");
  },
);
