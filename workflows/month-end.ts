import { continueAsNew, proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import { type MonthEndInput, type MonthEndResult, shardCount } from "../src/contract.ts";
import { orRefusal } from "./failures.ts";
import { workOn } from "./parts.ts";

/** Shards that are settled side by side. */
const atOnce = 4;

/** A step takes some 20 s and tells every page; one that a dead worker had goes on where it was. */
const { settleShard } = proxyActivities<Activities>({
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "15 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

type Shards = NonNullable<MonthEndInput["shards"]>;

/** Expires what is due in the accounts that nobody touches. Run twice, it finds nothing to do. */
export async function monthEnd(input: MonthEndInput): Promise<MonthEndResult> {
  const { program } = input;
  let { settled = 0, vain = 0, failed = 0 } = input;
  const shards: Shards =
    input.shards ?? Array.from({ length: shardCount }, (_, shard) => ({ shard }));
  const left = await workOn(shards, atOnce, async (part) => {
    const result = await orRefusal(settleShard({ program, ...part }));
    settled += result.settled;
    vain += result.vain;
    failed += result.failed;
    setCurrentDetails(
      `Settled ${settled} accounts; ${vain} had nothing to expire, ${failed} could not be settled.`,
    );
    return result.cursor;
  });
  if (left.length > 0) {
    await continueAsNew<typeof monthEnd>({ program, shards: left, settled, vain, failed });
  }
  return { settled, vain, failed };
}
