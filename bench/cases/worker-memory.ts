/** Measures the memory of a worker with many sleeping reservations. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { median, round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const day = 86_400_000;

/** A worker's resident memory with many sleeping reservations, over that with few. */
export const workerMemory: Benchmark = {
  names: ["worker.memory"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      const worker = await stack.startWorker();
      const executeTime = Date.now() + 30 * day;
      let reserved = 0;
      const upTo = async (count: number) => {
        const ids = Array.from({ length: count - reserved }, (_, i) => reserved + i);
        reserved = count;
        await inParallel(16, ids, (i) =>
          reserve(server.channel, { id: `sleep-${i}`, userId: userName(i), executeTime }),
        );
        return residentMb(worker.pid, scale.pick(20_000, 2_000));
      };
      const few = await upTo(scale.pick(1_000, 50));
      const many = await upTo(scale.pick(10_000, 100));
      scale.note(`${few.toFixed(0)} MB, then ${many.toFixed(0)} MB`);
      return [
        {
          name: "worker.memory",
          value: round(many / few),
          unit: "ratio of resident memory, 10,000 over 1,000 asleep",
          target: "<= 1.2",
          baseline: "the same worker with 1,000 asleep",
        },
      ];
    }),
};

/** The median of an idle worker, after a pause. */
async function residentMb(pid: number, restMs: number): Promise<number> {
  await sleep(restMs);
  const readings: number[] = [];
  for (let i = 0; i < 10; i++) {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    readings.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
    await sleep(200);
  }
  return median(readings);
}
