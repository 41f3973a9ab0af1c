/** The workflow that expires, at a month's end, what is due in the accounts that nobody touches. */
import { continueAsNew, proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  type MonthEndFailure,
  type MonthEndInput,
  type MonthEndResult,
  maxReports,
  monthEndIncomplete,
  shardCount,
} from "../src/contract.ts";
import { orRefusal, refuse } from "./failures.ts";
import { workOn } from "./parts.ts";

/** Shards that are settled side by side. */
const atOnce = 4;

/** How many accounts the message of a failure names; its details name 100. */
const maxNamed = 20;

/** A step takes some 20 s and tells every page; one that a dead worker had goes on where it was. */
const { settleShard } = proxyActivities<Activities>({
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "15 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

type Shards = NonNullable<MonthEndInput["shards"]>;

/**
 * Expires what is due. Run twice, it finds nothing to do. Fails with MONTH_END_INCOMPLETE when all
 * shards are done and some accounts could not be settled: an operator has to see them.
 */
export async function monthEnd(input: MonthEndInput): Promise<MonthEndResult> {
  const { program: programId } = input;
  let { settled = 0, vain = 0, failed = 0, failures = [] } = input;
  const shards: Shards =
    input.shards ?? Array.from({ length: shardCount }, (_, shard) => ({ shard }));
  const left = await workOn(shards, atOnce, async (part) => {
    const result = await orRefusal(settleShard({ program: programId, ...part }));
    settled += result.settled;
    vain += result.vain;
    failed += result.failed;
    failures = [...failures, ...(result.failures ?? [])].slice(0, maxReports);
    setCurrentDetails(
      `Settled ${settled} accounts; ${vain} had nothing to expire, ${failed} could not be settled.`,
    );
    return result.cursor;
  });
  if (left.length > 0) {
    await continueAsNew<typeof monthEnd>({
      program: programId,
      shards: left,
      settled,
      vain,
      failed,
      failures,
    });
  }
  if (failed > 0) throw incomplete({ settled, vain, failed, failures });
  return { settled, vain, failed };
}

function incomplete(result: MonthEndFailure) {
  const { failed, failures } = result;
  const names = failures.slice(0, maxNamed).map(({ userId, reason }) => `${userId} (${reason})`);
  const rest = failed > names.length ? ` and ${failed - names.length} more` : "";
  const message =
    `${failed} accounts could not be settled and are left to the next run: ` +
    `${names.join(", ")}${rest}`;
  return refuse(message, monthEndIncomplete, [result]);
}
