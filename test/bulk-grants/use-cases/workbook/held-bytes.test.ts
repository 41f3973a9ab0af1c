/** Tests that the workbooks of one sender leave room for those of others. */
import { afterEach, expect, test } from "vitest";
import { holdBytes } from "../../../../src/bulk-grants/use-cases/workbook/held-bytes.ts";
import { readWorkbook } from "../../../../src/bulk-grants/use-cases/workbook/read-workbook.ts";
import { bytesOf } from "../../../support/fixtures/sheets.ts";
import { inlineRows, workbookOf } from "../../../support/fixtures/workbooks.ts";

const mib = 2 ** 20;
const opened: ReturnType<typeof holdBytes>[] = [];

function hold(sender: string, bytes: number): void {
  const held = holdBytes(sender);
  opened.push(held);
  held.add(bytes);
}

afterEach(() => {
  for (const held of opened.splice(0)) held.release();
});

test("a sender holds 64 MiB, and all together hold 128 MiB", () => {
  hold("a", 64 * mib);
  expect(() => hold("a", 1)).toThrow("workbooks of a, or of all");
  hold("b", 64 * mib);
  expect(() => hold("c", 1)).toThrow(expect.objectContaining({ reason: "OVERLOADED" }));
});

const workbook = workbookOf({ rows: inlineRows(["user_id"], ["u1"]), strings: "<si/>" });

test("a workbook holds its bytes while it is read, also when the reader stops", async () => {
  const { records } = readWorkbook(bytesOf(workbook), "a");
  await records.next();
  // Beside the file: an offset of its shared string.
  const rest = 64 * mib - workbook.length - 4;
  expect(() => hold("a", rest + 1)).toThrow();
  hold("a", rest);
  await records.return(undefined);
  hold("a", workbook.length + 4);
});

test("a workbook that is refused holds nothing", async () => {
  const { records } = readWorkbook(bytesOf(workbook.subarray(0, 100)), "a");
  await expect(records.next()).rejects.toThrow("is damaged");
  hold("a", 64 * mib);
});

test("a workbook above the share of its sender is refused for now", async () => {
  hold("a", 64 * mib);
  const { records } = readWorkbook(bytesOf(workbook), "a");
  await expect(records.next()).rejects.toMatchObject({ reason: "OVERLOADED" });
});
