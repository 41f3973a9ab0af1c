/** Measures what a month end does to the grants of other accounts. */
import type { Benchmark } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { grant, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { expectNoneDue, runMonthEnd, seedMonthEnd } from "../support/month-ends.ts";
import { percentile, ratioByTurns, round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const grantsPerSecond = 20;
const users = 200;

/** The sweeps' pace on a machine whose store and load share its cores. */
const changesPerSecond = 100;

/** The latency of grants beside a month end of another program, over that of grants alone. */
export const monthEndNeighbour: Benchmark = {
  names: ["month_end.neighbour"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const { channel } = await stack.startServer();
      await stack.startWorker({
        env: { MEGURI_SWEEP_CHANGES_PER_SECOND: String(changesPerSecond) },
      });
      const userIds = Array.from({ length: users }, (_, i) => userName(i));
      await inParallel(8, userIds, (userId) => grant(channel, userId));
      /** The p99 of grants that arrive while `work` runs. */
      async function beside(work: () => Promise<unknown>): Promise<number> {
        const arrivals = startArrivals(grantsPerSecond, (n) => grant(channel, userName(n % users)));
        await work();
        return percentile((await arrivals.stop()).latencies, 0.99);
      }
      const [during, alone]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < scale.pick(3, 1); turn++) {
        const programId = `ending-${turn}`;
        await seedMonthEnd(stack, programId, scale.pick(120, 4));
        const start = performance.now();
        during.push(await beside(() => runMonthEnd(stack, programId)));
        const ms = performance.now() - start;
        await expectNoneDue(stack, programId);
        alone.push(await beside(() => new Promise((resolve) => setTimeout(resolve, ms))));
      }
      scale.note(`p99 beside a month end: ${during.map(round)} ms, alone: ${alone.map(round)} ms`);
      return [
        {
          name: "month_end.neighbour",
          ...ratioByTurns(during, alone),
          unit: `ratio of the p99 of ${grantsPerSecond} grants a second`,
          target: "<= 1.5",
          baseline: "the same grants without a month end",
        },
      ];
    }),
};
