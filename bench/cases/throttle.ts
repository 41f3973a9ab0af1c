/** Measures the requests of a process that is throttled, and how soon it recovers. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark } from "../benchmark.ts";
import { grant, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { withMeteredStack } from "../support/metered.ts";
import { greatestOf, ofTurns, sum } from "../support/numbers.ts";

const callers = 50;

/** How long all requests are throttled, and how many grants are timed after that. */
const throttledMs = 5_000;
const timedGrants = 1_000;

/** One caller for each account, which calls again as soon as its call has ended. */
export const throttle: Benchmark = {
  names: ["throttle.attempts", "throttle.recovery"],
  run: (scale) =>
    withMeteredStack(async ({ startServer, proxy }) => {
      const { channel } = await startServer();
      const userIds = Array.from({ length: callers }, (_, i) => userName(i));
      await inParallel(8, userIds, (userId) => grant(channel, userId));

      /** Throttles for `ms`, and then times the grants. */
      async function outage(ms: number) {
        let calls = 0;
        let done = 0;
        const over = Promise.withResolvers<number>();
        proxy.resetStats();
        proxy.faults(ms > 0 ? { throttle: 1 } : {});
        let isOver = false;
        const running = userIds.map(async (userId) => {
          while (!isOver) {
            calls += 1;
            await grant(channel, userId).catch(() => undefined);
            done += 1;
            if (done === target) over.resolve(performance.now());
          }
        });
        let target = Number.POSITIVE_INFINITY;
        await sleep(ms);
        const attempts = sum(Object.values(proxy.stats().requests));
        const callsThen = calls;
        proxy.faults({});
        target = done + scale.pick(timedGrants, 100);
        const start = performance.now();
        const took = (await over.promise) - start;
        isOver = true;
        await Promise.all(running);
        return { attempts, calls: callsThen, took };
      }

      const ratios: number[] = [];
      const attempts: number[] = [];
      for (let turn = 0; turn < scale.pick(3, 1); turn++) {
        const without = await outage(0);
        const after = await outage(throttledMs);
        scale.note(
          `${after.attempts} requests of ${after.calls} calls in ${throttledMs} ms; ` +
            `${timedGrants} grants took ${after.took.toFixed(0)} ms after it, ` +
            `${without.took.toFixed(0)} ms without`,
        );
        attempts.push(after.attempts / after.calls);
        ratios.push(after.took / without.took);
      }
      return [
        {
          name: "throttle.attempts",
          ...greatestOf(attempts),
          unit: `requests a call, ${callers} callers on as many accounts, all throttled for 5 s`,
          target: "<= 10",
          baseline: "",
        },
        {
          name: "throttle.recovery",
          ...ofTurns(ratios),
          unit: `ratio of times for ${timedGrants} grants`,
          target: "<= 1.5",
          baseline: "the same callers without throttling",
        },
      ];
    }),
};
