/** Tests that the items of bulk grants stay under the sizes that docs/change/keys.md promises. */
import { expect, test } from "vitest";
import { rowsKey } from "../../../src/bulk-grants/store/codecs/bulk-grants.ts";
import { encodeRows } from "../../../src/bulk-grants/store/codecs/bulk-rows.ts";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import { ruleChangeRef } from "../../../src/points/ports/records.ts";
import { toItem } from "../../../src/store/codecs.ts";
import {
  commonChange,
  largestBlock,
  largestBulkRecords,
  largestWorkbookBlock,
} from "../../support/fixtures/largest-bulk-records.ts";

const kb = 1_024;

/** The kinds of item that may exceed 1 KB. */
const limits = new Map([
  ["bulk grant", 13 * kb],
  ["bulk revision", 3 * kb],
  ["bulk summary", 9 * kb],
  ["rule change", 4 * kb],
  ["earlier rule change", 4 * kb],
  ["block check", 400 * kb],
  ["block outcome", 400 * kb],
]);

const sized = largestBulkRecords.map(([what, ref, value]): [string, number, number] => [
  what,
  itemSize(toItem(ref, value, Number.MAX_SAFE_INTEGER - 1)),
  limits.get(what) ?? kb,
]);

test.each(sized)("the largest %s has %i bytes and stays under %i", (_, size, limit) => {
  expect(size).toBeLessThan(limit);
});

test.each([
  ["a CSV", largestBlock],
  ["a workbook", largestWorkbookBlock],
])("the largest block of rows of %s is under 400 KB", (_, block) => {
  const item = { ...rowsKey("u".repeat(36), 799), ...encodeRows(block) };
  expect(itemSize(item)).toBeLessThan(400 * kb);
});

test("a common change of rules is under 1 KB", () => {
  expect(itemSize(toItem(ruleChangeRef("p".repeat(32)), commonChange, 999))).toBeLessThan(kb);
});

test("a common row takes under 50 bytes of its block", () => {
  const rows = largestBlock.map((_, i) => ({
    line: i + 2,
    userId: `user-${100_000 + i}`,
    points: 500,
    reason: "Summer campaign",
  }));
  expect(itemSize(encodeRows(rows)) / rows.length).toBeLessThan(50);
});
