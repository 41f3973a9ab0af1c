/** Compares a large bulk grant with a small one: time, and memory of the worker. */
import type { Benchmark, Scale } from "../benchmark.ts";
import { bulkCalls, runMs, unlimited } from "../support/bulk.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { mostResidentMb } from "../support/memory.ts";
import { round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

/** As many small sheets have the rows of the large one. */
const smallSheets = 10;

interface Measured {
  readonly msPerRow: number;
  /** The most resident memory of the worker at any time, in MB. */
  readonly worker: number;
}

/**
 * A sheet of 15,000 rows over one of 1,500, each on a stack of its own. The small one comes after
 * nine more that are only submitted, because garbage collection is lazy: the memory of a fresh
 * process grows with the rows that it has read, in however many sheets.
 */
export const bulkScale: Benchmark = {
  names: ["bulk.growth", "bulk.memory.worker"],
  async run(scale) {
    const rows = scale.pick(1_500, 250);
    const few = await measured(scale, rows, smallSheets);
    const many = await measured(scale, smallSheets * rows, 1);
    const baseline = "sheets of 1,500 rows, in processes of their own";
    return [
      {
        name: "bulk.growth",
        value: round(many.msPerRow / few.msPerRow),
        unit: "ratio of time a row, 15,000 rows over 1,500",
        target: "<= 1.1",
        baseline,
      },
      {
        name: "bulk.memory.worker",
        value: round(many.worker / few.worker),
        unit: "ratio of the most resident memory, 15,000 rows in one sheet over ten",
        target: "<= 1.2",
        baseline,
      },
    ];
  },
};

/** Uploads and validates sheets of so many rows; approves and runs the last one. */
const measured = (scale: Scale, count: number, sheets: number): Promise<Measured> =>
  withStack({ temporal: true }, async (stack) => {
    const server = await stack.startServer();
    const worker = await stack.startWorker({ env: unlimited });
    const bulk = bulkCalls(stack, server);
    const submit = (sheet: number) => bulk.submit({ id: `scale-${sheet}`, first: 0, count });
    for (let sheet = 1; sheet < sheets; sheet++) await submit(sheet);
    const start = Date.now();
    const submitted = await submit(sheets);
    const submitMs = Date.now() - start;
    const before = await cpuSeconds(worker.pid);
    await bulk.approve(submitted);
    const done = await bulk.done(submitted.bulkGrantId);
    const cpu = (await cpuSeconds(worker.pid)) - before;
    const most = await mostResidentMb(worker.pid);
    const ms = runMs(done);
    const uploadMs = done.revision.submitTime - start;
    scale.note(
      `${count} rows: upload ${seconds(uploadMs)}, validation ${seconds(submitMs - uploadMs)}, ` +
        `run ${seconds(ms)}, ${((count * 1_000) / ms).toFixed(0)} rows/s; worker CPU ` +
        `${((cpu * 1_000) / count).toFixed(2)} ms a row; at most ${most.toFixed(0)} MB`,
    );
    return { msPerRow: ms / count, worker: most };
  });

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
