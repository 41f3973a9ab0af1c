/** Measures the length of a bulk grant's history in Temporal. */
import { bulkGrantWorkflowId } from "../../src/contract/bulk-grants.ts";
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls } from "../support/bulk.ts";
import { withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

const id = "history";

/** All events of a bulk grant of 1,000 rows that one person approves, at the default row rate. */
export const bulkHistory: Benchmark = {
  names: ["bulk.history_events"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      await bulkCalls(stack, server).run({ id, first: 0, count: 1_000 });
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
          value: types.length,
          unit: "events of a bulk grant of 1,000 rows",
          target: "<= 60",
          baseline: "",
          counted: true,
        },
      ];
    }),
};
