/** Compares a large bulk grant with a small one: time and memory. */
import type { Benchmark, Scale } from "../benchmark.ts";
import { bulkCalls, runMs, unlimited } from "../support/bulk.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { residentMb } from "../support/memory.ts";
import { round } from "../support/numbers.ts";
import { type Process, withStack } from "../support/stack.ts";

const sampleMs = 200;

interface Measured {
  readonly msPerRow: number;
  /** The most resident memory at any time, in MB. */
  readonly server: number;
  readonly worker: number;
}

/** 100,000 rows over 10,000, each end to end on a stack of its own. */
export const bulkScale: Benchmark = {
  names: ["bulk.growth", "bulk.memory.worker", "bulk.memory.server"],
  async run(scale) {
    const few = await measured(scale, scale.pick(10_000, 250));
    const many = await measured(scale, scale.pick(100_000, 500));
    const memory = "ratio of the most resident memory, 100,000 rows over 10,000";
    const baseline = "10,000 rows, in processes of their own";
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
        value: round(many.server / few.server),
        unit: memory,
        target: "<= 1.2",
        baseline,
      },
    ];
  },
};

/** Uploads, validates, approves and runs so many rows for new accounts. */
const measured = (scale: Scale, count: number): Promise<Measured> =>
  withStack({ temporal: true }, async (stack) => {
    const server = await stack.startServer();
    const worker = await stack.startWorker({ env: unlimited });
    const bulk = bulkCalls(stack, server);
    const [ofServer, ofWorker] = [watchMemory(server), watchMemory(worker)];
    const [start, time] = [Date.now(), performance.now()];
    const submitted = await bulk.submit({ id: "scale", first: 0, count });
    const submitMs = performance.now() - time;
    await bulk.approve(submitted);
    const before = await cpuSeconds(worker.pid);
    const done = await bulk.done("scale");
    const cpu = (await cpuSeconds(worker.pid)) - before;
    const memory = { server: ofServer.stop(), worker: ofWorker.stop() };
    const ms = runMs(done);
    const uploadMs = done.revision.submitTime - start;
    scale.note(
      `${count} rows: upload ${seconds(uploadMs)}, validation ${seconds(submitMs - uploadMs)}, ` +
        `run ${seconds(ms)}, ${((count * 1_000) / ms).toFixed(0)} rows/s; worker CPU ` +
        `${((cpu * 1_000) / count).toFixed(2)} ms a row; at most ${memory.server.toFixed(0)} MB ` +
        `(server), ${memory.worker.toFixed(0)} MB (worker)`,
    );
    return { msPerRow: ms / count, ...memory };
  });

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** Reads the resident memory of a process until `stop`, which returns the most. */
function watchMemory({ pid }: Process) {
  let most = 0;
  const read = async () => {
    most = Math.max(most, await residentMb(pid).catch(() => 0));
  };
  const timer = setInterval(read, sampleMs);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}
