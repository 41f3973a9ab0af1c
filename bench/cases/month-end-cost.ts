/** Measures what a month end takes for an account: CPU time, and accounts a second. */
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { shardCount } from "../../src/points/contract/points.ts";
import { plainMonthEnd } from "../baselines/plain-month-end.ts";
import type { Benchmark } from "../benchmark.ts";
import { cpuSecondsOf } from "../support/cpu.ts";
import { byTurns } from "../support/load.ts";
import { expectNoneDue, runMonthEnd, seedMonthEnd } from "../support/month-ends.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

/** CPU time of an account, and accounts a second, over a plain loop in this process. */
export const monthEndCost: Benchmark = {
  names: ["month_end.cpu", "month_end.rate"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const { config, clients, deps, temporalPid = 0 } = stack;
      // The baseline has no pace.
      const env = { MEGURI_SWEEP_CHANGES_PER_SECOND: "100000" };
      const worker = await stack.startWorker({ env });
      const perShard = scale.pick(80, 4);
      const accounts = shardCount * perShard;

      async function measure(
        programId: string,
        run: () => Promise<void>,
        cpuSeconds: () => Promise<number>,
      ) {
        await seedMonthEnd(stack, programId, perShard);
        const [start, before] = [performance.now(), await cpuSeconds()];
        await run();
        const seconds = (performance.now() - start) / 1_000;
        const cpuMs = (((await cpuSeconds()) - before) * 1_000) / accounts;
        await expectNoneDue(stack, programId);
        return { cpuMs, rate: accounts / seconds };
      }

      const ours = (programId: string) =>
        measure(
          programId,
          () => runMonthEnd(stack, programId),
          () => cpuSecondsOf([worker.pid, temporalPid]),
        );

      const plain = (programId: string) =>
        measure(
          programId,
          () => plainMonthEnd(deps, clients.retrying, tableName(config.tablePrefix), programId),
          async () => {
            const { user, system } = process.cpuUsage();
            return (user + system) / 1e6;
          },
        );

      await ours("ours-warm");
      await plain("plain-warm");
      const { a, b } = await byTurns(
        scale.pick(2, 1),
        (turn) => ours(`ours-${turn}`),
        (turn) => plain(`plain-${turn}`),
      );
      const ratio = (of: "cpuMs" | "rate") => {
        const [over, under] = [a, b].map((all) => all.map((one) => one[of])) as [
          number[],
          number[],
        ];
        scale.note(`${of}: ours ${over.map(round)}, plain ${under.map(round)}`);
        return ratioByTurns(over, under);
      };
      const baseline = "plain-month-end: a loop over the index, 16 accounts at a time";
      return [
        {
          name: "month_end.cpu",
          ...ratio("cpuMs"),
          unit: "ratio of the CPU time of worker and Temporal an account",
          target: "<= 1.5",
          baseline,
        },
        {
          name: "month_end.rate",
          ...ratio("rate"),
          unit: "ratio of accounts a second, which the emulator bounds",
          target: ">= 0.8",
          baseline,
        },
      ];
    }),
};
