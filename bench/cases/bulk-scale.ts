/** Compares a large bulk grant with a small one: time and memory. */
import type { Benchmark, Scale } from "../benchmark.ts";
import { bulkCalls, runMs, unlimited } from "../support/bulk.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { residentMb } from "../support/memory.ts";
import { round } from "../support/numbers.ts";
import { type Process, withStack } from "../support/stack.ts";

const sampleMs = 200;

/** As many small sheets have the rows of the large one. */
const smallSheets = 10;

interface Measured {
  readonly msPerRow: number;
  /** The most resident memory at any time, in MB. */
  readonly server: number;
  readonly worker: number;
  /** That of the server while it got the first sheet. */
  readonly serverAtFirst: number;
}

/**
 * A sheet of 100,000 rows over one of 10,000, each on a stack of its own. The small one comes after
 * nine more that are only submitted, because garbage collection is lazy: the memory of a fresh
 * server grows with the rows that it has read, in however many sheets.
 */
export const bulkScale: Benchmark = {
  names: [
    "bulk.growth",
    "bulk.memory.worker",
    "bulk.memory.server",
    "bulk.memory.server.same_rows",
  ],
  async run(scale) {
    const rows = scale.pick(10_000, 250);
    const few = await measured(scale, rows, smallSheets);
    const many = await measured(scale, smallSheets * rows, 1);
    const memory = "ratio of the most resident memory, 100,000 rows in one sheet over ten";
    const baseline = "sheets of 10,000 rows, in processes of their own";
    return [
      {
        name: "bulk.growth",
        value: round(many.msPerRow / few.msPerRow),
        unit: "ratio of time a row, 100,000 rows over 10,000",
        target: "<= 1.1",
        baseline,
      },
      {
        name: "bulk.memory.worker",
        value: round(many.worker / few.worker),
        unit: memory,
        target: "<= 1.2",
        baseline,
      },
      {
        name: "bulk.memory.server",
        value: round(many.serverAtFirst / few.serverAtFirst),
        unit: "ratio of the most resident memory, the first sheet of a fresh server",
        target: "<= 1.2",
        baseline: "a sheet of 10,000 rows, in a process of its own",
      },
      {
        name: "bulk.memory.server.same_rows",
        value: round(many.server / few.server),
        unit: memory,
        target: "",
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
    let serverAtFirst: number | undefined;
    const [ofServer, ofWorker] = [watchMemory(server), watchMemory(worker)];
    const submit = (sheet: number) => bulk.submit({ id: `scale-${sheet}`, first: 0, count });
    for (let sheet = 1; sheet < sheets; sheet++) {
      await submit(sheet);
      serverAtFirst ??= ofServer.most();
    }
    const start = Date.now();
    const submitted = await submit(sheets);
    const submitMs = Date.now() - start;
    serverAtFirst ??= ofServer.most();
    const before = await cpuSeconds(worker.pid);
    await bulk.approve(submitted);
    const done = await bulk.done(submitted.bulkGrantId);
    const cpu = (await cpuSeconds(worker.pid)) - before;
    const memory = { server: ofServer.stop(), worker: ofWorker.stop() };
    const ms = runMs(done);
    const uploadMs = done.revision.submitTime - start;
    scale.note(
      `${count} rows: upload ${seconds(uploadMs)}, validation ${seconds(submitMs - uploadMs)}, ` +
        `run ${seconds(ms)}, ${((count * 1_000) / ms).toFixed(0)} rows/s; worker CPU ` +
        `${((cpu * 1_000) / count).toFixed(2)} ms a row; at most ${memory.server.toFixed(0)} MB ` +
        `(server; ${serverAtFirst.toFixed(0)} MB with the first sheet), ` +
        `${memory.worker.toFixed(0)} MB (worker)`,
    );
    return { msPerRow: ms / count, ...memory, serverAtFirst };
  });

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** Reads the resident memory of a process until `stop`, which returns the most, as `most` does. */
function watchMemory({ pid }: Process) {
  let most = 0;
  const read = async () => {
    most = Math.max(most, await residentMb(pid).catch(() => 0));
  };
  const timer = setInterval(read, sampleMs);
  return {
    most: () => most,
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}
