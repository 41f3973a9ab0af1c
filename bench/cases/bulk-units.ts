/** Measures the capacity units and requests of the rows of bulk grants. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Result } from "../benchmark.ts";
import { bulkCalls, unlimited } from "../support/bulk.ts";
import { type Metered, withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";

/** Longer than a process keeps records that it has committed. */
const coldMs = 1_500;

/** The cost of a granted row: its upload, validation and run together, and its run alone. */
export const bulkUnits: Benchmark = {
  names: ["bulk.round_trips", "bulk.round_trips.all", "bulk.write_units", "bulk.write_units.first"],
  run: (scale) =>
    withMeteredStack(
      async (stack) => {
        const { meter } = stack;
        const server = await stack.startServer();
        await stack.startWorker({ env: unlimited });
        const bulk = bulkCalls(stack, server);
        const count = scale.pick(2_000, 250);

        /** Meters the submission with its validation, and the rest. All accounts are cold. */
        async function metered(id: string): Promise<readonly [Metered, Metered]> {
          await sleep(coldMs);
          let submitted: Awaited<ReturnType<typeof bulk.submit>> | undefined;
          const before = await meter(async () => {
            submitted = await bulk.submit({ id, first: 0, count });
          });
          await sleep(coldMs);
          const after = await meter(async () => {
            if (submitted) await bulk.approve(submitted);
            await bulk.done(id);
          });
          scale.note(`${id}: until its approval ${JSON.stringify(before)}`);
          scale.note(`${id}: its run ${JSON.stringify(after)}`);
          return [before, after];
        }

        const first = await metered("first");
        const second = await metered("second");
        const writes = (both: readonly Metered[]) => both.map(({ usage }) => usage.writes);
        const requests = (both: readonly Metered[]) => both.map((one) => one.requests);
        return [
          perRow(
            "bulk.round_trips",
            requests(second.slice(1)),
            count,
            "requests of the run",
            "<= 2",
          ),
          perRow("bulk.round_trips.all", requests(second), count, "requests", ""),
          perRow("bulk.write_units", writes(second), count, "write units", "<= 7"),
          perRow("bulk.write_units.first", writes(first), count, "write units, new accounts,", ""),
        ];
      },
      { temporal: true },
    ),
};

const perRow = (
  name: string,
  parts: readonly number[],
  rows: number,
  unit: string,
  target: string,
): Result => ({
  name,
  value: round(parts.reduce((a, b) => a + b, 0) / rows),
  unit: `${unit} a granted row`,
  target,
  baseline: "",
  counted: true,
});
