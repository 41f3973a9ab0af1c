/** Compares a bulk grant with a workflow that runs one activity for each row. */
import type { rowActivities } from "../baselines/row-activities.ts";
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls, unlimited } from "../support/bulk.ts";
import { cpuSecondsOf } from "../support/cpu.ts";
import { byTurns } from "../support/load.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { type Process, type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

const rounds = 2;

/** The task queue of the baseline. */
const taskQueue = "row-activities";

/** The cost of a row in one round. */
interface Cost {
  /** The CPU time of the worker and the server, in ms. */
  readonly ms: number;
  /** The same with Temporal's, in ms. */
  readonly withTemporalMs: number;
  readonly rowsPerSecond: number;
}

/** CPU time a row, from the sheet to its last row; each round with new accounts. */
export const bulkThroughput: Benchmark = {
  names: ["bulk.throughput", "bulk.throughput.temporal", "bulk.throughput.rate"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      const worker = await stack.startWorker({ env: unlimited });
      const baseline = await stack.startWorker({
        entry: "bench/baselines/row-activities-worker.ts",
        env: { ...unlimited, MEGURI_TASK_QUEUE: taskQueue },
      });
      const bulk = bulkCalls(stack, server);
      const count = scale.pick(2_000, 250);
      let users = 0;
      const take = (rows: number) => {
        users += rows;
        return users - rows;
      };

      const activities = (workflowId: string, rows: number) =>
        costOf(stack, [server, baseline], rows, () =>
          withTemporalClient(stack, ({ workflow }) =>
            workflow.execute<typeof rowActivities>("rowActivities", {
              workflowId,
              taskQueue,
              args: [take(rows), rows],
            }),
          ),
        );

      const bulkGrant = (id: string, rows: number) =>
        costOf(stack, [server, worker], rows, () =>
          bulk.run({ id, first: take(rows), count: rows }),
        );

      // The first ones load and compile the code.
      await activities("warm", scale.pick(500, 50));
      await bulkGrant("warm", scale.pick(500, 50));
      const { a, b } = await byTurns(
        scale.pick(rounds, 1),
        (n) => activities(`rows-${n}`, count),
        (n) => bulkGrant(`bulk-${n}`, count),
      );
      scale.note(`one activity a row: ${show(a)}; bulk: ${show(b)}`);
      const ratio = (of: keyof Cost) =>
        ratioByTurns(
          b.map((cost) => cost[of]),
          a.map((cost) => cost[of]),
        );
      const baselineText = "a workflow with one activity for each row, 64 at a time";
      return [
        {
          name: "bulk.throughput",
          ...ratio("ms"),
          unit: "ratio of the CPU time of worker and server a row",
          target: "<= 0.5",
          baseline: baselineText,
        },
        {
          name: "bulk.throughput.temporal",
          ...ratio("withTemporalMs"),
          unit: "ratio of the CPU time of worker, server and Temporal a row",
          target: "<= 0.35",
          baseline: baselineText,
        },
        {
          name: "bulk.throughput.rate",
          ...ratio("rowsPerSecond"),
          unit: "ratio of rows a second, which the emulator bounds",
          target: "",
          baseline: baselineText,
        },
      ];
    }),
};

/** Measures what a row costs while `work` grants so many of them. */
async function costOf(
  { temporalPid }: Stack,
  processes: readonly Process[],
  rows: number,
  work: () => Promise<unknown>,
): Promise<Cost> {
  const usage = async () => {
    const ours = await cpuSecondsOf(processes.map(({ pid }) => pid));
    return { ours, all: ours + (await cpuSecondsOf([temporalPid ?? 0])) };
  };
  const [start, before] = [performance.now(), await usage()];
  await work();
  const [ms, after] = [performance.now() - start, await usage()];
  return {
    ms: ((after.ours - before.ours) * 1_000) / rows,
    withTemporalMs: ((after.all - before.all) * 1_000) / rows,
    rowsPerSecond: (rows * 1_000) / ms,
  };
}

const show = (costs: readonly Cost[]) =>
  costs
    .map(
      ({ ms, withTemporalMs, rowsPerSecond }) =>
        `${round(ms)} ms (with Temporal ${round(withTemporalMs)}, ${round(rowsPerSecond)}/s)`,
    )
    .join(", ");
