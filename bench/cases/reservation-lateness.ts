/** Measures how late reservations are granted. */
import { setTimeout as sleep } from "node:timers/promises";
import { latenessOf } from "../../src/domain/reservation.ts";
import type { Benchmark } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { percentile, round } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";
import { withStack } from "../support/stack.ts";

const perSecond = 5;

/** The unit of lateness in the design. */
const unitMs = 1_500;

/** The lateness of reservations that are due one after another. */
export const reservationLateness: Benchmark = {
  names: ["reservation.lateness.spread"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      const seconds = scale.pick(60, 5);
      const start = Date.now() + scale.pick(15_000, 5_000);
      const all = Array.from({ length: perSecond * seconds }, (_, i) => ({
        id: `spread-${i}`,
        userId: userName(i),
        executeTime: start + (i * 1_000) / perSecond,
      }));
      await inParallel(8, all, (one) => reserve(server.channel, one));
      // Polling for results would delay the measured grants.
      await sleep(start + seconds * 1_000 - Date.now());
      const ids = all.map(({ id }) => id);
      const late = (await allDone(stack, ids, 60_000)).map(latenessOf);
      const [p50, p95, most] = [0.5, 0.95, 1].map((share) => percentile(late, share)) as number[];
      scale.note(`lateness p50 ${p50}, p95 ${p95}, at most ${most} ms`);
      return [
        {
          name: "reservation.lateness.spread",
          value: round((p95 ?? Number.NaN) / unitMs),
          unit: "p95, in units of 1.5 s",
          target: "<= 0.1",
          baseline: "",
        },
      ];
    }),
};
