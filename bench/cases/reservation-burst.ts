/** Measures how long it takes to grant many reservations that are due at one instant. */
import { setTimeout as sleep } from "node:timers/promises";
import { createReservation } from "../../src/app/reservations/commands.ts";
import { asService } from "../../src/domain/caller.ts";
import { latenessOf } from "../../src/domain/reservation.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { type Reserved, reserve, userName } from "../support/calls.ts";
import { byTurns, inParallel } from "../support/load.ts";
import { percentile, ratioByTurns } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";
import { type ServerProcess, type Stack, withStack } from "../support/stack.ts";

const tickMs = 10_000;

/** The burst is due this long before the next scan: half of the scanner's period, its mean. */
const beforeTickMs = 5_000;

/** The time until the last of many reservations is granted. */
export const reservationBurst: Benchmark = {
  names: ["reservation.burst"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      // One burst each is not measured, because first requests are slower than later ones.
      await ours(stack, server, scale, -1);
      await scanners(stack, scale, -1);
      const { a, b } = await byTurns(
        scale.pick(3, 1),
        (turn) => ours(stack, server, scale, turn),
        (turn) => scanners(stack, scale, turn),
      );
      const ratio = ratioByTurns(a, b);
      scale.note(`ours ${a} ms, scanner ${b} ms, ratios ${ratio.turns}`);
      return [
        {
          name: "reservation.burst",
          ...ratio,
          unit: "ratio of times until the last is granted",
          target: "<= 0.4",
          baseline: "polling-scanner: every 10 s, 16 in flight, 5 s before its tick",
        },
      ];
    }),
};

async function ours(stack: Stack, { channel }: ServerProcess, scale: Scale, turn: number) {
  const burst = burstOf(scale, `ours-${turn}`, Date.now() + scale.pick(15_000, 6_000));
  await inParallel(16, burst, (one) => reserve(channel, one));
  return lastOf(stack, scale, burst);
}

async function scanners(stack: Stack, scale: Scale, turn: number): Promise<number> {
  const scanner = await stack.startWorker({ entry: "bench/baselines/polling-scanner.ts" });
  try {
    // The scanner's first scan is 10 s after its `ready`, which is about now.
    const due = Date.now() + tickMs - beforeTickMs + (scale.quick ? 0 : tickMs);
    const burst = burstOf(scale, `scan-${turn}`, due);
    await inParallel(16, burst, ({ id, userId, executeTime }) =>
      createReservation(stack.deps, {
        ...{ programId: "default", reservationId: id, userId, executeTime },
        ...{ points: 5, reason: "bench", creator: asService("bench") },
      }),
    );
    return await lastOf(stack, scale, burst);
  } finally {
    await scanner.stop();
  }
}

function burstOf(scale: Scale, name: string, executeTime: number): Reserved[] {
  return Array.from({ length: scale.pick(500, 20) }, (_, i) => ({
    id: `burst-${name}-${i}`,
    userId: `${name}-${userName(i)}`,
    executeTime,
  }));
}

/** The lateness of the last grant, in ms. */
async function lastOf(stack: Stack, scale: Scale, burst: readonly Reserved[]): Promise<number> {
  const [{ executeTime }] = burst as [Reserved];
  if (Date.now() > executeTime) scale.note("the burst was due before all of it was reserved");
  // Polling for results would slow the measured grants down.
  await sleep(executeTime + beforeTickMs + 4_000 - Date.now());
  const rows = await allDone(
    stack,
    burst.map(({ id }) => id),
    60_000,
  );
  const late = rows.map(latenessOf);
  scale.note(
    `${burst[0]?.id}: ${[0.1, 0.5, 0.9, 1].map((at) => percentile(late, at))} ms (p10 to last)`,
  );
  return Math.max(...late);
}
