/** Measures how long it takes to grant many reservations that are due at one instant. */
import type { Benchmark } from "../benchmark.ts";
import { grantDue, scannerWay, temporalWay, type Way } from "../support/due.ts";
import { byTurns } from "../support/load.ts";
import { ratioByTurns } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

/** The time until the last of many reservations is granted, and the CPU time of each. */
export const reservationBurst: Benchmark = {
  names: ["reservation.burst", "reservation.burst.cpu"],
  run: (scale) =>
    withStack({ temporal: true }, (stack) =>
      withStack({}, async (plainStack) => {
        const ours = await temporalWay(stack);
        const scanner = await scannerWay(plainStack);
        const burst = (way: Way, name: string) =>
          grantDue(way, scale, { name, count: scale.pick(500, 20), apartMs: 0 });
        // One burst each is not measured, because first requests are slower than later ones.
        await burst(ours, "ours-warm");
        await burst(scanner, "scanner-warm");
        const { a, b } = await byTurns(
          scale.pick(3, 1),
          (turn) => burst(ours, `ours-${turn}`),
          (turn) => burst(scanner, `scanner-${turn}`),
        );
        const lastOf = ({ late }: { readonly late: readonly number[] }) => Math.max(...late);
        const cpuOf = ({ cpuMs }: { readonly cpuMs: number }) => cpuMs;
        const baseline = "polling-scanner: every second, 64 in flight, without Temporal";
        return [
          {
            name: "reservation.burst",
            ...ratioByTurns(a.map(lastOf), b.map(lastOf)),
            unit: "ratio of times until the last is granted",
            target: "<= 1.1",
            baseline: `${baseline}, 0.5 s before its tick`,
          },
          {
            name: "reservation.burst.cpu",
            ...ratioByTurns(a.map(cpuOf), b.map(cpuOf)),
            unit: "ratio of the CPU time of worker and Temporal a reservation",
            target: "",
            baseline,
          },
        ];
      }),
    ),
};
