/** Tests that reading a sheet lets the event loop turn. */
import { expect, test } from "vitest";
import { readSheet } from "../../../src/bulk-grants/use-cases/read-sheet.ts";
import { context } from "../../support/fixtures/sheets.ts";

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

test("the event loop turns for every KiB of a sheet that comes as a whole", async () => {
  const rows = Array.from({ length: 1_000 }, (_, i) => `user-${i},1,${"r".repeat(118)}\n`);
  const csv = `user_id,points,reason\n${rows.join("")}`;
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  let count = 0;
  for await (const { problems } of readSheet(once(csv), context)) {
    expect(problems).toBeUndefined();
    count += 1;
  }
  clearImmediate(next);
  expect(count).toBe(1_000);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(csv.length / 2 ** 10));
});
