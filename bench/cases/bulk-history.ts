/** Measures the length of a bulk grant's history in Temporal. */
import type { Client } from "@temporalio/client";
import { bulkGrantWorkflowId } from "../../src/contract/bulk-grants.ts";
import type { Benchmark } from "../benchmark.ts";
import { bulkCalls } from "../support/bulk.ts";
import { round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** All events of a bulk grant that one person approves, at the default row rate. */
export const bulkHistory: Benchmark = {
  names: ["bulk.history_events", "bulk.history_events.small"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      const bulk = bulkCalls(stack, server);

      async function eventsOf({ workflow }: Client, id: string, count: number): Promise<number> {
        await bulk.run({ id, first: 0, count });
        const handle = workflow.getHandle(bulkGrantWorkflowId("default", id));
        await handle.result();
        // A run that continued as new would have a history before this one.
        const { raw, runId } = await handle.describe();
        const { firstRunId } = raw.workflowExecutionInfo ?? {};
        if (firstRunId && firstRunId !== runId) throw new Error("the run continued as new");
        const { events } = await handle.fetchHistory();
        const types = (events ?? []).map(
          (event) => Object.keys(event).find((key) => key.endsWith("EventAttributes")) ?? "",
        );
        const counts = Map.groupBy(types, (type) => type.replace("EventAttributes", ""));
        const shown = [...counts].map(([type, all]) => `${type} ${all.length}`).join(", ");
        scale.note(`${count} rows, ${types.length} events: ${shown}`);
        return types.length;
      }

      const rows = scale.pick(10_000, 2_000);
      const [few, many] = await withTemporalClient(
        stack,
        async (client) =>
          [await eventsOf(client, "few", 1_000), await eventsOf(client, "many", rows)] as const,
      );
      return [
        {
          name: "bulk.history_events",
          value: round((many * 1_000) / rows),
          unit: "events for 1,000 rows, of a bulk grant of 10,000 rows",
          target: "<= 60",
          baseline: "",
          counted: true,
        },
        {
          name: "bulk.history_events.small",
          value: few,
          unit: "events of a bulk grant of 1,000 rows",
          target: "",
          baseline: "",
          counted: true,
        },
      ];
    }),
};
