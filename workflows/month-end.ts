/** The month-end sweep: the workflow that expires what is due in the accounts without calls. */
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

/** The number of shards that are processed concurrently. */
const concurrency = 4;

/** The message of a failure names at most this many accounts; its details name 100. */
const maxNamed = 20;

/**
 * A step takes about 20 s and sends a heartbeat after each page. After the death of a worker, the
 * next attempt continues from the last heartbeat.
 */
const { settleShard } = proxyActivities<Activities>({
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "15 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

type Shards = NonNullable<MonthEndInput["shards"]>;

/**
 * Expires what is due in the accounts of a program. May run twice. Fails with MONTH_END_INCOMPLETE
 * when all shards are done and some accounts failed, so that an operator notices them.
 */
export async function monthEnd(input: MonthEndInput): Promise<MonthEndResult> {
  const { program: programId } = input;
  let total: MonthEndFailure = {
    settled: input.settled ?? 0,
    vain: input.vain ?? 0,
    failed: input.failed ?? 0,
    failures: input.failures ?? [],
  };
  const shards: Shards =
    input.shards ?? Array.from({ length: shardCount }, (_, shard) => ({ shard }));
  const left = await workOn(shards, concurrency, async (part) => {
    const result = await orRefusal(settleShard({ program: programId, ...part }));
    total = {
      settled: total.settled + result.settled,
      vain: total.vain + result.vain,
      failed: total.failed + result.failed,
      failures: [...total.failures, ...(result.failures ?? [])].slice(0, maxReports),
    };
    setCurrentDetails(
      `Expired what was due in ${total.settled} accounts; ` +
        `${total.vain} are unchanged, ${total.failed} failed.`,
    );
    return result.cursor;
  });
  if (left.length > 0) {
    await continueAsNew<typeof monthEnd>({ program: programId, shards: left, ...total });
  }
  if (total.failed > 0) throw incomplete(total);
  return { settled: total.settled, vain: total.vain, failed: total.failed };
}

function incomplete(result: MonthEndFailure) {
  const { failed, failures } = result;
  const names = failures.slice(0, maxNamed).map(({ userId, reason }) => `${userId} (${reason})`);
  const rest = failed > names.length ? ` and ${failed - names.length} more` : "";
  const message =
    `could not expire what is due in ${failed} accounts, which are left to the next run: ` +
    `${names.join(", ")}${rest}`;
  return refuse(message, monthEndIncomplete, [result]);
}
