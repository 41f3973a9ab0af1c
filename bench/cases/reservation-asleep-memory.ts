/** Measures the memory that a sleeping reservation takes in a worker and in Temporal. */
import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import { composeWorkflows } from "../../src/compose.ts";
import { asService } from "../../src/domain/caller.ts";
import type { Reservation } from "../../src/domain/reservation.ts";
import { createLogger } from "../../src/log.ts";
import type { Benchmark } from "../benchmark.ts";
import { userName } from "../support/calls.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { inParallel } from "../support/load.ts";
import { residentKb } from "../support/memory.ts";
import { median, round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const day = 86_400_000;
const timeZone = "Asia/Tokyo";

/** The growth of both processes from few sleeping reservations to many, for each of them. */
export const reservationAsleepMemory: Benchmark = {
  names: ["reservation.asleep.worker", "reservation.asleep.temporal"],
  run: (scale) =>
    withStack({ temporal: true }, async ({ config, startWorker, temporalPid = 0 }) => {
      const worker = await startWorker();
      const workflows = composeWorkflows(config, createLogger("bench", "silent"));
      let started = 0;
      /** Starts runs as a server does, but without the records, which no run reads asleep. */
      const upTo = async (count: number) => {
        const numbers = Array.from({ length: count - started }, (_, i) => started + i);
        const start = performance.now();
        // A start that is sent again finds its run.
        await inParallel(32, numbers, (i) =>
          pRetry(() => workflows.startReservation(reservationOf(i), timeZone)),
        );
        await untilIdle(worker.pid);
        const seconds = (performance.now() - start) / 1_000;
        started = count;
        const kb = { worker: await settledKb(worker.pid), temporal: await settledKb(temporalPid) };
        scale.note(
          `${count} asleep after ${round(seconds)} s: worker ${round(kb.worker / 1_024)} MB, ` +
            `Temporal ${round(kb.temporal / 1_024)} MB`,
        );
        return kb;
      };
      try {
        const [first, last] = [scale.pick(1_000, 50), scale.pick(20_000, 200)];
        const few = await upTo(first);
        const many = await upTo(last);
        const result = (process: "worker" | "temporal", target: string) => ({
          name: `reservation.asleep.${process}`,
          value: round((many[process] - few[process]) / (last - first)),
          unit: `KB of resident memory a reservation, ${last.toLocaleString("en")} asleep`,
          target,
          baseline: "",
        });
        return [result("worker", "<= 1"), result("temporal", "")];
      } finally {
        await workflows.close();
      }
    }),
};

function reservationOf(i: number): Reservation {
  const now = Date.now();
  return {
    programId: "default",
    reservationId: `asleep-${i}`,
    userId: userName(i),
    points: 5,
    reason: "bench",
    creator: asService("bench"),
    hash: "",
    executeTime: now + 30 * day,
    state: "PENDING",
    createTime: now,
    updateTime: now,
  };
}

/** Waits until a worker has hardly anything to do: its queues are empty. */
async function untilIdle(pid: number): Promise<void> {
  for (let before = await cpuSeconds(pid); ; ) {
    await sleep(5_000);
    const now = await cpuSeconds(pid);
    if (now - before < 0.25) return;
    before = now;
  }
}

/** The median of some seconds, because garbage is collected meanwhile. */
async function settledKb(pid: number): Promise<number> {
  const readings: number[] = [];
  for (let i = 0; i < 20; i++) {
    readings.push(await residentKb(pid));
    await sleep(250);
  }
  return median(readings);
}
