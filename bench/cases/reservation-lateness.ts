/** Measures how late reservations are granted that are due one after another. */
import type { Benchmark } from "../benchmark.ts";
import { grantDue, scannerWay, temporalWay, type Way } from "../support/due.ts";
import { byTurns } from "../support/load.ts";
import { ofTurns, percentile, ratioByTurns } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const perSecond = 5;

/** The unit of lateness in the design. */
const unitMs = 1_500;

/** The lateness of reservations that are due one after another, alone and beside the scanner's. */
export const reservationLateness: Benchmark = {
  names: ["reservation.lateness.spread", "reservation.lateness.scanner"],
  run: (scale) =>
    withStack({ temporal: true }, (stack) =>
      withStack({}, async (plainStack) => {
        const ours = await temporalWay(stack);
        const scanner = await scannerWay(plainStack);
        const p95 = async (way: Way, name: string) => {
          const count = perSecond * scale.pick(30, 3);
          const due = { name, count, apartMs: 1_000 / perSecond };
          return percentile((await grantDue(way, scale, due)).late, 0.95);
        };
        const { a, b } = await byTurns(
          scale.pick(3, 1),
          (turn) => p95(ours, `ours-${turn}`),
          (turn) => p95(scanner, `scanner-${turn}`),
        );
        return [
          {
            name: "reservation.lateness.spread",
            ...ofTurns(a.map((ms) => ms / unitMs)),
            unit: "p95, in units of 1.5 s",
            target: "<= 0.1",
            baseline: "",
          },
          {
            name: "reservation.lateness.scanner",
            ...ratioByTurns(a, b),
            unit: "ratio of the p95 of lateness",
            target: "<= 0.1",
            baseline: "polling-scanner: every second, 64 in flight, without Temporal",
          },
        ];
      }),
    ),
};
