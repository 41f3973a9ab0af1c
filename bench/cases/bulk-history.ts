/** Measures the length of a bulk grant's history in Temporal. */
import { bulkGrantWorkflowId } from "../../src/bulk-grants/contract/bulk-grants.ts";
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls } from "../support/bulk.ts";
import { round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

const id = "history";

/** The events of a bulk grant that one person approves, for 1,000 rows at the default row rate. */
export const bulkHistory: Benchmark = {
  names: ["bulk.history_events"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      const count = scale.pick(3_000, 1_000);
      await bulkCalls(stack, server).run({ id, first: 0, count });
      const types = await withTemporalClient(stack, async ({ workflow }) => {
        const handle = workflow.getHandle(bulkGrantWorkflowId("default", id));
        await handle.result();
        const { events } = await handle.fetchHistory();
        return (events ?? []).map(
          (event) => Object.keys(event).find((key) => key.endsWith("EventAttributes")) ?? "",
        );
      });
      const counts = Map.groupBy(types, (type) => type.replace("EventAttributes", ""));
      scale.note([...counts].map(([type, all]) => `${type} ${all.length}`).join(", "));
      return [
        {
          name: "bulk.history_events",
          value: round((types.length * 1_000) / count),
          unit: "events for 1,000 rows, of a bulk grant of 3,000 rows",
          target: "<= 60",
          baseline: "",
          counted: true,
        },
      ];
    }),
};
