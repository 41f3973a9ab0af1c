/** Tests which user ids look as if a spreadsheet program had changed them. */
import { expect, test } from "vitest";
import {
  hasOtherFraction,
  hasZeroFraction,
  isErrorValue,
  looksChanged,
} from "../../../src/bulk-grants/rules/changed-ids.ts";

test.each([
  "8.21541E+08",
  "9.01E+10",
  "1E+05",
  "8.21541e+08",
  "2-Jan",
  "31-Dec",
  "2-Jan-26",
  "02-Jan-2026",
  "Jan-26",
  "2026-01-02",
  "2026/1/2",
  "2026-01-02 00:00:00",
  "2026-01-02T00:00:00Z",
  "1/2/2026",
  "31/12/2026",
  "1月2日",
  "2026年1月2日",
  "TRUE",
  "FALSE",
  "=A2",
  '=CONCATENATE("u",A2)',
  "#REF!",
  "#N/A",
  "#NAME?",
  "#DIV/0!",
  "Err:502",
])("%s does", (userId) => {
  expect(looksChanged(userId)).toBe(true);
});

test.each([
  "1",
  "635",
  "09012345678",
  "f47ac10b-58cc-4372-a567-0e02b2c3d479",
  "2026e100-0000-4000-8000-000000000001",
  "user@example.com",
  "2e5",
  "12e4",
  "12E4",
  "12e+4",
  "5E-12",
  "E+05",
  "1.E+05",
  "true",
  "True",
  "TRUE1",
  "MAR-12",
  "Mar-012",
  "Sept-12",
  "40-Jan",
  "2026-11",
  "2026-13-01",
  "2026-01-32",
  "2026-1/2",
  "12/5",
  "a=b",
  "+819012345678",
  "#1",
  "#N/A!",
])("%s does not", (userId) => {
  expect(looksChanged(userId)).toBe(false);
});

test("a fraction of zero is one of a number, and another fraction is an id of its own", () => {
  expect(["17850.0", "9012345678.00", "1.0"].map(hasZeroFraction)).toEqual([true, true, true]);
  expect(["17850", "17850.", ".0", "1.0.0", "v1.0", "1.05"].some(hasZeroFraction)).toBe(false);
  expect(["1.5", "1.05"].map(hasOtherFraction)).toEqual([true, true]);
  expect(["1.0", "1", "1.5.0", "1.50a"].some(hasOtherFraction)).toBe(false);
});

test("a reason is an error value only as a whole", () => {
  expect(["#N/A", "#VALUE!", "#SPILL!"].map(isErrorValue)).toEqual([true, true, true]);
  expect(["", "summer", "see #N/A", "#1"].some(isErrorValue)).toBe(false);
});
