/** Tests the search for users that are in a sheet twice. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSeenTexts } from "../../../src/bulk-grants/use-cases/seen-texts.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

test("a user is found in the line that it was in first, as by a Map", async () => {
  const users = fc.array(fc.string({ minLength: 1, maxLength: 2 }), { maxLength: 300 });
  const property = fc.asyncProperty(users, async (userIds) => {
    const seen = createSeenTexts(2);
    const lines = new Map<string, number>();
    for (const [i, userId] of userIds.entries()) {
      expect(seen.firstNumber(userId, i + 2)).toBe(lines.get(userId));
      if (!lines.has(userId)) lines.set(userId, i + 2);
    }
  });
  await assertSeeds(property, [{ seed: 1, numRuns: 100 }]);
});

test("many users take few bytes, and none is taken for another", () => {
  const count = 20_000;
  const before = process.memoryUsage().arrayBuffers;
  const seen = createSeenTexts();
  for (let i = 0; i < count; i++) {
    if (seen.firstNumber(`user-${i}`, i + 2) !== undefined) expect.fail(`user-${i} is found`);
  }
  expect(seen.firstNumber("user-0", count + 2)).toBe(2);
  expect(seen.firstNumber(`user-${count - 1}`, count + 2)).toBe(count + 1);
  // The tables that it has outgrown may not be collected yet.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * count);
});
