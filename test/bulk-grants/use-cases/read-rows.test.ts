/** Tests of reading rows that come as messages. */
import { expect, test } from "vitest";
import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import { maxRows, maxSheetBytes } from "../../../src/bulk-grants/rules/sheet.ts";
import { type NewRow, readRows } from "../../../src/bulk-grants/use-cases/read-rows.ts";
import { context } from "../../support/fixtures/sheets.ts";

async function check(raw: Iterable<NewRow>): Promise<SheetRow[]> {
  async function* messages() {
    yield* raw;
  }
  const rows: SheetRow[] = [];
  for await (const row of readRows({ rows: messages() }, context)) rows.push(row);
  return rows;
}

const refusal = (code: string, line: number) => ({
  reason: "INVALID_REQUEST",
  metadata: { field: "rows", code, line: String(line) },
});

test("an id and a pattern, both long, take no more room than another malformed id", async () => {
  async function* messages() {
    yield { userId: "u".repeat(128), points: 1, reason: "" };
  }
  const rules = { ...context, userIdPattern: `v{100}${"()".repeat(125)}` };
  for await (const { userId, problems = [] } of readRows({ rows: messages() }, rules)) {
    expect(problems.map(({ code }) => code)).toEqual(["USER_MALFORMED"]);
    const [{ detail = "" } = {}] = problems;
    expect(detail).toContain(", and the program demands v{100}()");
    expect(Buffer.byteLength(userId + detail)).toBeLessThanOrEqual(256 + 192);
  }
});

test("a good row is kept as it is", async () => {
  const raw = { userId: "'=u1", points: 1_000_000, reason: "'=r" };
  expect(await check([raw])).toEqual([{ line: 2, ...raw }]);
});

test.each([
  [{ userId: "u#" }, { code: "USER_MALFORMED" }],
  [{ points: 0 }, { code: "POINTS_ZERO" }],
  [{ points: -1 }, { code: "POINTS_MALFORMED" }],
  [{ points: 1.5 }, { code: "POINTS_MALFORMED" }],
  [{ points: Number.NaN }, { code: "POINTS_MALFORMED" }],
  [{ points: 1_000_001 }, { code: "POINTS_ABOVE_CAP", detail: "1000000" }],
  [{ points: 2 ** 63 }, { code: "POINTS_ABOVE_CAP", detail: "1000000" }],
  [{ reason: "x".repeat(129) }, { code: "REASON_TOO_LONG" }],
  [{ reason: "a\u2028b" }, { code: "REASON_MALFORMED" }],
])("a row with %j has a problem", async (part, problem) => {
  const [row] = await check([{ userId: "u1", points: 1, reason: "", ...part }]);
  expect(row).toMatchObject({ line: 2, problems: [problem] });
});

test("malformed points are kept as text", async () => {
  expect(await check([{ userId: "u1", points: -5, reason: "" }])).toMatchObject([
    { points: 0, rawPoints: "-5" },
  ]);
});

test("no rows are refused", async () => {
  await expect(check([])).rejects.toMatchObject(refusal("EMPTY", 1));
});

test("a NUL character is refused", async () => {
  const raw = { userId: "u1", points: 1, reason: "a\0b" };
  await expect(check([raw])).rejects.toMatchObject(refusal("NUL_BYTE", 2));
});

test("one row more than a sheet may have is refused", async () => {
  const raw = Array.from({ length: maxRows }, (_, index) => ({
    userId: `u${index}`,
    points: 1,
    reason: "",
  }));
  expect(await check(raw)).toHaveLength(maxRows);
  const more = [...raw, { userId: "u", points: 1, reason: "" }];
  await expect(check(more)).rejects.toMatchObject(refusal("TOO_MANY_ROWS", maxRows + 2));
});

test("more bytes than a sheet may have are refused", async () => {
  const raw = { userId: "u", points: 1, reason: "x".repeat(maxSheetBytes - 5) };
  expect(await check([raw])).toHaveLength(1);
  const more = [{ ...raw, reason: `${raw.reason}x` }];
  await expect(check(more)).rejects.toMatchObject(refusal("TOO_LARGE", 2));
});
