/** Compares a bulk grant with a workflow that runs one activity for each row. */
import { Client, Connection } from "@temporalio/client";
import type { rowActivities } from "../baselines/row-activities.ts";
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls, runMs, unlimited } from "../support/bulk.ts";
import { byTurns } from "../support/load.ts";
import { median, round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const rounds = 3;

/** The task queue of the baseline. */
const taskQueue = "row-activities";

/** Rows a second, each round with new accounts. */
export const bulkThroughput: Benchmark = {
  names: ["bulk.throughput"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker({ env: unlimited });
      await stack.startWorker({
        entry: "bench/baselines/row-activities-worker.ts",
        env: { ...unlimited, MEGURI_TASK_QUEUE: taskQueue },
      });
      const bulk = bulkCalls(stack, server);
      const { temporalAddress: address, temporalNamespace: namespace } = stack.config;
      const connection = await Connection.connect({ address });
      const { workflow } = new Client({ connection, namespace });
      const count = scale.pick(4_000, 250);
      let users = 0;
      const take = (rows: number) => {
        users += rows;
        return users - rows;
      };

      async function activities(workflowId: string, rows: number): Promise<number> {
        const args: [number, number] = [take(rows), rows];
        const start = performance.now();
        await workflow.execute<typeof rowActivities>("rowActivities", {
          workflowId,
          taskQueue,
          args,
        });
        return (rows * 1_000) / (performance.now() - start);
      }

      async function bulkGrant(id: string, rows: number): Promise<number> {
        return (rows * 1_000) / runMs(await bulk.run({ id, first: take(rows), count: rows }));
      }

      // The first ones load and compile the code.
      await activities("warm", scale.pick(500, 50));
      await bulkGrant("warm", scale.pick(500, 50));
      const { a, b } = await byTurns(
        scale.pick(rounds, 1),
        (n) => activities(`rows-${n}`, count),
        (n) => bulkGrant(`bulk-${n}`, count),
      );
      await connection.close();
      const [plain, ours] = [median(a), median(b)];
      const show = (rates: readonly number[]) => rates.map((rate) => rate.toFixed(0)).join(", ");
      scale.note(`rows/s, one activity a row: ${show(a)}; bulk: ${show(b)}`);
      return [
        {
          name: "bulk.throughput",
          value: round(ours / plain),
          unit: "ratio of rates",
          target: ">= 2",
          baseline: "a workflow with one activity for each row, 64 at a time",
        },
      ];
    }),
};
