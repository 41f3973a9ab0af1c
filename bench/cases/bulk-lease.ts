/** Measures what the lease of a bulk grant's run costs. */
import { bulkGrantRef } from "../../src/app/ports/records.ts";
import { codecOf } from "../../src/store/dynamodb/codecs/index.ts";
import { itemSize } from "../../src/store/dynamodb/sdk/item-size.ts";
import type { Benchmark } from "../benchmark.ts";
import { type Item, readUnits } from "../capacity.ts";
import { bulkCalls, runMs } from "../support/bulk.ts";
import { withMeteredStack } from "../support/metered.ts";
import { round, sum } from "../support/numbers.ts";

/** The read units of a run at the default row rate that its reads of the record cost. */
export const bulkLease: Benchmark = {
  names: ["bulk.lease_read_units"],
  run: (scale) =>
    withMeteredStack(
      async ({ proxy, ...stack }) => {
        const server = await stack.startServer();
        await stack.startWorker();
        const bulk = bulkCalls(stack, server);
        // Four blocks of 250 rows for each lane.
        const lanes = scale.pick(4, 1);
        const submitted = await bulk.submit({ id: "lease", first: 0, count: lanes * 1_000 });
        proxy.capture(true);
        await bulk.approve(submitted);
        const seconds = runMs(await bulk.done("lease")) / 1_000;
        proxy.capture(false);
        const key = JSON.stringify(codecOf("bulkGrant").key(bulkGrantRef("default", "lease").id));
        const units = proxy.captured().flatMap(({ operation, request, response }) => {
          const { Key } = request as { readonly Key?: Item };
          const { Item: item } = response as { readonly Item?: Item };
          if (operation !== "GetItem" || !item || JSON.stringify(Key) !== key) return [];
          return readUnits(itemSize(item), "strong");
        });
        scale.note(
          `${units.length} reads of the record in ${seconds.toFixed(1)} s, ${lanes} lanes`,
        );
        return [
          {
            name: "bulk.lease_read_units",
            value: round(sum(units) / seconds / lanes),
            unit: "read units a second for each lane",
            target: "<= 1",
            baseline: "",
          },
        ];
      },
      { temporal: true },
    ),
};
