/** Compares the memory that uploads take in a server: large and small ones, and workbooks. */
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls } from "../support/bulk.ts";
import { byTurns } from "../support/load.ts";
import { mostResidentMb } from "../support/memory.ts";
import { ratioByTurns } from "../support/numbers.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** A sheet of 200,000 rows over one of 10,000, each the first upload of a server of its own. */
export const bulkMemory: Benchmark = {
  names: ["bulk.memory.server"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const few = (turn: number) => megabytes(stack, scale.pick(10_000, 250), `few-${turn}`);
      const many = (turn: number) => megabytes(stack, scale.pick(200_000, 2_500), `many-${turn}`);
      const { a, b } = await byTurns(scale.pick(2, 1), many, few);
      scale.note(`large ${a.map(Math.round)} MB, small ${b.map(Math.round)} MB`);
      return [
        {
          name: "bulk.memory.server",
          ...ratioByTurns(a, b),
          unit: "ratio of the most resident memory, an upload of 200,000 rows over 10,000",
          target: "<= 1.2",
          baseline: "a sheet of 10,000 rows, in a process of its own",
        },
      ];
    }),
};

/** A workbook of 200,000 rows over a CSV of the same, each the first upload of a server. */
export const workbookMemory: Benchmark = {
  names: ["sheet.xlsx_memory"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const count = scale.pick(200_000, 2_500);
      const csv = (turn: number) => megabytes(stack, count, `csv-${turn}`);
      const workbook = (turn: number) => megabytes(stack, count, `xlsx-${turn}`, "uploadWorkbook");
      const { a, b } = await byTurns(scale.pick(2, 1), workbook, csv);
      scale.note(`workbook ${a.map(Math.round)} MB, CSV ${b.map(Math.round)} MB`);
      return [
        {
          name: "sheet.xlsx_memory",
          ...ratioByTurns(a, b),
          unit: "ratio of the most resident memory, 200,000 rows as .xlsx over CSV",
          target: "<= 1.2",
          baseline: "the same rows as CSV, in a process of its own",
        },
      ];
    }),
};

/** The most memory of a fresh server that takes one upload. */
async function megabytes(
  stack: Stack,
  count: number,
  id: string,
  upload: "upload" | "uploadWorkbook" = "upload",
): Promise<number> {
  const server = await stack.startServer();
  await bulkCalls(stack, server)[upload]({ id, first: 0, count });
  const most = await mostResidentMb(server.pid);
  await server.stop();
  return most;
}
