/** Measures how much later reservations are granted while a bulk grant runs. */
import type { BulkGrant } from "../../src/domain/bulk-grant.ts";
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls } from "../support/bulk.ts";
import { userName } from "../support/calls.ts";
import { byTurns } from "../support/load.ts";
import { percentile, ratioByTurns, round } from "../support/numbers.ts";
import { latenessWhile } from "../support/reservations.ts";
import { withStack } from "../support/stack.ts";

const perSecond = 5;
const rounds = 2;

/** More rows a second than a worker executes by default, so that a run outlasts its round. */
const rowsPerSecond = 110;

/** Users with reservations have numbers from this one on; rows have the numbers below. */
const firstReserved = 1_000_000;

/** The lateness of reservations during a bulk grant at the default row rate, over that without. */
export const reservationUnderBulk: Benchmark = {
  names: ["reservation.lateness.under_bulk"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      const bulk = bulkCalls(stack, server);
      const seconds = scale.pick(30, 5);
      const rows = (seconds + 5) * rowsPerSecond;
      let reserved = 0;

      /** Returns the lateness of reservations that are due from soon after `start` on. */
      async function lateness(start: () => Promise<void>): Promise<number[]> {
        const from = Date.now() + scale.pick(10_000, 5_000);
        const all = Array.from({ length: perSecond * seconds }, (_, i) => ({
          id: `under-bulk-${reserved + i}`,
          userId: userName(firstReserved + reserved + i),
          executeTime: from + (i * 1_000) / perSecond,
        }));
        reserved += all.length;
        return latenessWhile(stack, server, all, start);
      }

      async function underBulk(n: number): Promise<number[]> {
        const id = `under-bulk-${n}`;
        const submitted: BulkGrant = await bulk.submit({ id, first: n * rows, count: rows });
        const late = await lateness(() => bulk.approve(submitted));
        await bulk.done(id);
        return late;
      }

      const { a, b } = await byTurns(
        scale.pick(rounds, 1),
        () => lateness(async () => {}),
        underBulk,
      );
      const p99 = (late: readonly number[]) => percentile(late, 0.99);
      const show = (late: readonly number[]) =>
        [0.5, 0.95, 0.99, 1].map((share) => percentile(late, share)).join(", ");
      scale.note(`lateness p50, p95, p99, most in ms: ${show(a.flat())}; under: ${show(b.flat())}`);
      return [
        {
          name: "reservation.lateness.under_bulk",
          value: round(p99(b.flat()) / p99(a.flat())),
          turns: ratioByTurns(b.map(p99), a.map(p99)).turns,
          unit: "ratio of the p99 of lateness",
          target: "<= 2",
          baseline: "the same reservations without a bulk grant",
        },
      ];
    }),
};
