/** Tests which rows of a bulk grant are named as the first that failed. */
import { expect, test } from "vitest";
import type { BlockProblem } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { countInvalid, firstFailures } from "../../../src/bulk-grants/use-cases/first-failures.ts";
import type { Deps } from "../../../src/hub/deps.ts";

const frozen = (index: number): BlockProblem => ({ index, code: "ACCOUNT_FROZEN" });

/** Finds failures in blocks of 250 rows, whose lines begin with 2, and which blocks it has read. */
async function find(state: BulkGrant["state"], failures: readonly (readonly BlockProblem[])[]) {
  const readBlocks: number[] = [];
  const page = (name: "failures" | "problems") => async () => ({
    items: failures.map((of, block) => ({ block, [name]: of })),
  });
  const reader = {
    blockOutcomes: page("failures"),
    blockChecks: page("problems"),
    async rowsOfBlock(_: string, block: number) {
      readBlocks.push(block);
      return Array.from({ length: 250 }, (_, i) => ({ line: 2 + 250 * block + i }));
    },
  };
  const deps = { reader } as unknown as Pick<Deps, "reader">;
  const bulkGrant = { state, revision: { uploadId: "u" } } as BulkGrant;
  return { found: await firstFailures(deps, bulkGrant, 20), readBlocks };
}

test("the first 20 rows, by their lines, of as few blocks as they are in", async () => {
  const many = Array.from({ length: 15 }, (_, i) => frozen(i));
  const { found, readBlocks } = await find("RUNNING", [[], many, [], many, many]);
  expect(readBlocks).toEqual([1, 3]);
  expect(found.map(({ line }) => line)).toEqual([
    ...many.map(({ index }) => 252 + index),
    ...[752, 753, 754, 755, 756],
  ]);
});

test("each row once, with all its codes, and none that was not run", async () => {
  const both = [frozen(1), { index: 1, code: "LIMIT_EXCEEDED" } as const];
  const notRun = { index: 2, code: "NOT_RUN" } as const;
  for (const state of ["INVALID", "CANCELLED", "DONE_WITH_FAILURES"] as const) {
    const { found } = await find(state, [[...both, notRun]]);
    expect(found).toEqual([{ line: 3, codes: ["ACCOUNT_FROZEN", "LIMIT_EXCEEDED"] }]);
  }
});

test("the invalid rows are counted by each of their codes, over all blocks", async () => {
  const both = [frozen(1), { index: 1, code: "LIMIT_EXCEEDED" } as const];
  const blocks = [both, [], [frozen(0)]].map((problems, block) => ({ block, problems }));
  const reader = { blockChecks: async () => ({ items: blocks }) };
  const deps = { reader } as unknown as Pick<Deps, "reader">;
  const bulkGrant = { state: "INVALID", revision: { uploadId: "u" } } as BulkGrant;
  expect(await countInvalid(deps, bulkGrant)).toEqual({ ACCOUNT_FROZEN: 2, LIMIT_EXCEEDED: 1 });
});
