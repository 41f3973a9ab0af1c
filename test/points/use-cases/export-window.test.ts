/** Tests which entries an export reads, against ledgers of any times and any windows. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { accountRef, entryRef, programRef } from "../../../src/points/ports/records.ts";
import { windowReader } from "../../../src/points/use-cases/jobs/export-window.ts";
import { program } from "../../support/fixtures/ledger-fixture.ts";
import { account, entry } from "../../support/fixtures/stored-points.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";
import { fill, write } from "../../support/stores/records.ts";

/** The batches of a ledger: how many entries of one transaction, and the time since the last. */
const ledgers = fc.array(
  fc.array(
    fc.record({ count: fc.integer({ min: 1, max: 20 }), after: fc.integer({ min: 0, max: 40 }) }),
    { maxLength: 60 },
  ),
  { minLength: 1, maxLength: 24 },
);

const only = { segment: 0, segments: 1 };

test("an export has the entries of its window, each once and in their order", async () => {
  const input = fc.record({
    ledgers,
    start: fc.option(fc.integer({ min: 0, max: 1_500 }), { nil: undefined }),
    length: fc.integer({ min: 1, max: 600 }),
  });
  await fc.assert(
    fc.asyncProperty(input, async ({ ledgers, start, length }) => {
      const { itemStore, reader, force } = createMemoryStore();
      force(programRef("p"), program(12));
      const window = { start, end: (start ?? 0) + length };
      const wanted: string[] = [];
      for (const [i, batches] of ledgers.entries()) {
        const userId = `u-${i}`;
        let [last, time] = [0, 0];
        for (const { count, after } of batches) {
          time += after;
          const numbers = Array.from({ length: count }, () => ++last);
          const createTime = time;
          const entries = numbers.map((number) =>
            write(entryRef("p", userId, number), entry(number, { createTime })),
          );
          await itemStore.commit(entries, `${i} ${last}`);
          const isWithin = time >= (start ?? 0) && time < window.end;
          if (isWithin) wanted.push(...numbers.map((number) => `${userId} ${number}`));
        }
        await fill(itemStore, [
          write(accountRef("p", userId), account("p", userId, { last, time })),
        ]);
      }
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        // Each read is one of another step, which knows nothing but the cursor.
        const page = await windowReader({ reader }, "p", window, only)(cursor);
        for (const { userId, number, entry } of page.items) {
          const { createTime = Number.NaN } = entry ?? {};
          const isWithin = createTime >= (start ?? 0) && createTime < window.end;
          if (isWithin) found.push(`${userId} ${number}`);
        }
        cursor = page.cursor;
      } while (cursor !== undefined);
      const byUser = (lines: readonly string[]) => Map.groupBy(lines, (line) => line.split(" ")[0]);
      expect(byUser(found)).toEqual(byUser(wanted));
    }),
    { numRuns: 40 },
  );
});
