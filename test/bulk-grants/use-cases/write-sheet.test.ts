/** Tests of writing failed rows as a sheet, which reads back with the same values. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { FailedRow } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import { createRowCheck } from "../../../src/bulk-grants/use-cases/check-row.ts";
import { failedRowsSheet, writeSheet } from "../../../src/bulk-grants/use-cases/write-sheet.ts";
import { anyText } from "../../support/fixtures/any-text.ts";
import { context, read } from "../../support/fixtures/sheets.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

async function write(failed: readonly FailedRow[]): Promise<string> {
  async function* rows() {
    yield* failed;
  }
  let csv = "";
  const hasExpireMonths = failed.some(({ row }) => row.expireMonth);
  const revision = { number: 3, ...(hasExpireMonths && { hasExpireMonths }) };
  for await (const piece of writeSheet(rows(), { bulkGrantId: "summer", revision })) csv += piece;
  return csv;
}

const header =
  '\ufeff"user_id","points","reason","bulk_grant_id","revision","line","error_code","error"\r\n';

test("a sheet without rows has a BOM and the header", async () => {
  expect(await write([])).toBe(header);
});

test("a row has its values, the bulk grant, the line and the error", async () => {
  const row = { line: 7, userId: "u1", points: 5, reason: 'for "a", b' };
  const problems = [{ code: "USER_TWICE", detail: "2" }, { code: "ACCOUNT_FROZEN" }] as const;
  expect(await write([{ row, problems }])).toBe(
    `${header}"u1","5","for ""a"", b","summer","3","7",` +
      '"USER_TWICE, ACCOUNT_FROZEN","user_id: is in line 2 already; the account is frozen"\r\n',
  );
});

test("the tab of a source has the warnings of a row, too", async () => {
  async function* rows(): AsyncGenerator<FailedRow> {
    for (const line of [2, 3]) {
      const row = { line, userId: `u${line}`, points: 15, reason: "" };
      yield { row, problems: [{ code: "NOT_RUN" }] };
    }
  }
  const of = { bulkGrantId: "summer", revision: { number: 1 } };
  const warning = { code: "LAST_ROW_IS_SUM", rowCount: 1, lines: [3], detail: "15" } as const;
  const cells = [];
  for await (const row of failedRowsSheet(rows(), of, [warning]).rows) cells.push(row.slice(-2));
  expect(cells.slice(1)).toEqual([
    ["NOT_RUN", "the bulk grant ended before this row"],
    [
      "NOT_RUN, LAST_ROW_IS_SUM",
      "the bulk grant ended before this row; warning: LAST_ROW_IS_SUM: the last row has the sum " +
        "of all others, 15 points; line 3",
    ],
  ]);
});

test("a column has the months of rows, if any has one", async () => {
  const problems = [{ code: "ACCOUNT_FROZEN" }] as const;
  const first = { line: 2, userId: "u1", points: 5, reason: "", expireMonth: "2027-01" };
  const second = { line: 3, userId: "u2", points: 5, reason: "" };
  const csv = await write([first, second].map((row) => ({ row, problems })));
  expect(csv.split("\r\n")[0]).toContain('"reason","expire_month","bulk_grant_id"');
  expect((await read(csv)).rows).toEqual([first, second]);
});

test("a broken record is written with what was in its line", async () => {
  const { rows } = await read('user_id,points,reason\nu1,1,"a\nu2,"5"0,b\n');
  const csv = await write(rows.map((row) => ({ row, problems: row.problems ?? [] })));
  const again = await read(csv);
  expect(again.rows.map(({ userId, rawPoints, reason }) => [userId, rawPoints, reason])).toEqual([
    ["u1", undefined, '"a'],
    ["u2", '"5"0,b', ""],
  ]);
});

test.each(["=1+1", "+1", "-1", "@a", "\ta", "\ra", "\na", "＝1", "'=1", "''@"])(
  "%j gets an apostrophe, in every column",
  async (cell) => {
    const row = { line: 2, userId: cell, points: 0, reason: cell, rawPoints: cell };
    const csv = await write([{ row, problems: [{ code: "LIMIT_EXCEEDED", detail: cell }] }]);
    expect(csv.split(`'${cell}`)).toHaveLength(5);
    expect((await read(csv)).rows[0]).toMatchObject({
      userId: cell.trim(),
      rawPoints: cell,
      reason: cell,
    });
  },
);

test("many rows are written in several pieces", async () => {
  const rows = Array.from({ length: 501 }, (_, index) => ({
    row: { line: index + 2, userId: `u${index}`, points: 1, reason: "" },
    problems: [{ code: "CONTENDED" }] as const,
  }));
  const { rows: found, error } = await read(await write(rows));
  expect(error).toBeUndefined();
  expect(found).toEqual(rows.map(({ row }) => row));
});

/** Text of all characters but NUL, which often starts like a formula. */
const text = fc
  .tuple(fc.constantFrom("", "'", "''", "=", "'=", "-", "\t", '"', "\r\n", "あ"), fc.string())
  .map(([start, rest]) => `${start}${rest}`.replaceAll("\0", ""));
const cells = fc.record({
  // Blanks around a user id are taken away.
  userId: fc.oneof(
    text.map((any) => any.trim()),
    fc.stringMatching(/^[!-"$-~]{1,64}$/),
  ),
  points: fc.oneof(text, fc.integer({ min: 1 }).map(String)),
  reason: fc.oneof(
    text,
    anyText().map((any) => any.replaceAll("\0", "")),
  ),
  expireMonth: fc.oneof(fc.constantFrom(undefined, "2027-01", " 2027-12 ", "Jan-27"), text),
});

test("any rows read back the same", async () => {
  const property = fc.asyncProperty(fc.array(cells, { minLength: 1 }), async (all) => {
    const check = createRowCheck(context);
    const rows = all.map((one, index) => check(index + 2, one));
    const failed = rows.map((row: SheetRow) => ({
      row,
      problems: row.problems ?? [{ code: "ACCOUNT_FROZEN" } as const],
    }));
    expect(await read(await write(failed), 1_000)).toEqual({ rows });
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 300 }]);
});
