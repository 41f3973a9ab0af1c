/** Measures how long a month end takes when its index partitions or its workers limit it. */
import type { Benchmark, Scale } from "../benchmark.ts";
import { byTurns } from "../support/load.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { expectNoneDue, runMonthEnd, seedMonthEnd } from "../support/month-ends.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { previousVersion } from "../support/stack.ts";

/** As many as the emulator can take from 16 partitions. AWS takes 500 transactions a second. */
const perSecond = 12;

/** So slow that the 64 accounts that a worker expires at a time limit it, and not the emulator. */
const writeMs = 1_500;

/** The rate of 16 shards at once over that of 4 at a time: 4, less what a run takes besides. */
export const monthEndPartitions: Benchmark = {
  names: ["month_end.partitions"],
  run: (scale) =>
    withMonthEnds(120, async (present) =>
      withMonthEnds(120, async (previous) => {
        const version = await previousVersion();
        for (const { stack } of [present, previous]) {
          stack.proxy.limitPartitions({ attribute: "xp", perSecond });
        }
        await present.stack.startWorker();
        await previous.stack.startWorker({ version });
        await present.run(scale, "warm");
        await previous.run(scale, "warm");
        const { a, b } = await byTurns(
          scale.pick(2, 1),
          (turn) => present.run(scale, `turn-${turn}`),
          (turn) => previous.run(scale, `turn-${turn}`),
        );
        const ratio = ratioByTurns(b, a);
        scale.note(`now ${a.map(round)} s, before ${b.map(round)} s, ratios ${ratio.turns}`);
        return [
          {
            name: "month_end.partitions",
            ...ratio,
            unit: `ratio of accounts a second, ${perSecond} changes a second for each partition`,
            target: ">= 4",
            baseline: "the previous version",
          },
        ];
      }),
    ),
};

/** The rate of two workers over that of one, in 12 and 24 rounds and no part of one. */
export const monthEndWorkers: Benchmark = {
  names: ["month_end.workers"],
  run: (scale) =>
    withMonthEnds(96, async ({ stack, run }) => {
      stack.proxy.faults({
        delay: 1,
        delayMs: [writeMs, writeMs],
        operations: ["TransactWriteItems"],
      });
      await stack.startWorker();
      await run(scale, "warm");
      let second: Awaited<ReturnType<typeof stack.startWorker>> | undefined;
      const { a, b } = await byTurns(
        scale.pick(3, 1),
        async (turn) => {
          await second?.stop();
          second = undefined;
          return run(scale, `one-${turn}`);
        },
        async (turn) => {
          second ??= await stack.startWorker();
          return run(scale, `two-${turn}`);
        },
      );
      scale.note(`one worker ${a.map(round)} s, two ${b.map(round)} s`);
      return [
        {
          name: "month_end.workers",
          ...ratioByTurns(a, b),
          unit: `ratio of accounts a second, writes ${writeMs} ms away`,
          target: ">= 1.7",
          baseline: "one worker",
        },
      ];
    }),
};

interface MonthEnds {
  readonly stack: MeteredStack;
  /** Runs the month end of a new program. Returns its time in seconds. */
  run(scale: Scale, name: string): Promise<number>;
}

/** Month ends of programs with so many due accounts in each shard. */
function withMonthEnds<T>(perShard: number, use: (monthEnds: MonthEnds) => Promise<T>): Promise<T> {
  const run = async (stack: MeteredStack, scale: Scale, programId: string) => {
    await seedMonthEnd(stack, programId, scale.pick(perShard, 4));
    const start = performance.now();
    await runMonthEnd(stack, programId);
    const seconds = (performance.now() - start) / 1_000;
    await expectNoneDue(stack, programId);
    return seconds;
  };
  return withMeteredStack(
    (stack) => use({ stack, run: (scale, programId) => run(stack, scale, programId) }),
    { temporal: true },
  );
}
