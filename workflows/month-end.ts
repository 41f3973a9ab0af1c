/** The month-end sweep: the workflow that expires what is due in the accounts without calls. */
import { ApplicationFailure, defineSearchAttributeKey } from "@temporalio/common";
import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  type MonthEndFailure,
  type MonthEndInput,
  type MonthEndMonths,
  type MonthEndResult,
  monthEndIncomplete,
} from "../src/contract/month-ends.ts";
import { maxReports, shardCount } from "../src/contract/points.ts";
import { searchAttributes } from "../src/contract/search-attributes.ts";
import { orRefusal, refuse } from "./failures.ts";
import { workOn } from "./parts.ts";
import { sweepTiming } from "./timing.ts";

const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");

/** The number of shards that are processed concurrently. */
const concurrency = 4;

/** A message or report names at most this many accounts; the details of the failure name 100. */
const maxNamed = 20;

const { readMonthEnd } = proxyActivities<Activities>(sweepTiming.readMonth);
const { settleShard } = proxyActivities<Activities>(sweepTiming.shard);

/** The counts so far. */
type MonthEndTotal = Omit<MonthEndFailure, "report">;

type Shards = NonNullable<MonthEndInput["shards"]>;

/**
 * Expires what is due in the accounts of a program. May run twice. Fails with MONTH_END_INCOMPLETE
 * when all shards are done and some accounts failed, so that an operator notices them.
 */
export async function monthEnd(input: MonthEndInput): Promise<MonthEndResult> {
  try {
    const result = await sweep(input);
    upsertSearchAttributes([{ key: stateKey, value: "DONE" }]);
    return result;
  } catch (error) {
    if (error instanceof ApplicationFailure) {
      upsertSearchAttributes([{ key: stateKey, value: "FAILED" }]);
    }
    throw error;
  }
}

async function sweep(input: MonthEndInput): Promise<MonthEndResult> {
  const { program: programId } = input;
  const months = input.months ?? (await orRefusal(readMonthEnd({ program: programId })));
  let total: MonthEndTotal = {
    settled: input.settled ?? 0,
    vain: input.vain ?? 0,
    failed: input.failed ?? 0,
    failures: input.failures ?? [],
    months,
  };
  const shards: Shards =
    input.shards ?? Array.from({ length: shardCount }, (_, shard) => ({ shard }));
  setCurrentDetails(report(total, "runs"));
  const left = await workOn(shards, concurrency, async (part) => {
    const result = await orRefusal(
      settleShard.executeWithOptions({ summary: `shard ${part.shard + 1} of ${shardCount}` }, [
        { program: programId, ...part },
      ]),
    );
    total = {
      ...total,
      settled: total.settled + result.settled,
      vain: total.vain + result.vain,
      failed: total.failed + result.failed,
      failures: [...total.failures, ...result.failures].slice(0, maxReports),
    };
    setCurrentDetails(report(total, "runs"));
    return result.cursor;
  });
  if (left.length > 0) {
    await continueAsNew<typeof monthEnd>({ program: programId, shards: left, ...total });
  }
  const details = report(total, total.failed > 0 ? "is incomplete" : "is done");
  setCurrentDetails(details);
  if (total.failed > 0) throw incomplete({ ...total, report: details });
  const { failures: _, ...counts } = total;
  return { ...counts, report: details };
}

/** The months, the counts and the first accounts that failed, as an operator reads them. */
function report(total: MonthEndTotal, progress: string): string {
  const { months, settled, vain, failed } = total;
  const accounts = (count: number) => count.toLocaleString("en");
  const counts =
    `${accounts(settled)} accounts, ${accounts(vain)} unchanged, ${accounts(failed)} failed` +
    (failed > 0 ? `: ${namesOf(total)}` : "");
  return (
    `The month end of ${nameOf(months.month)} ${progress}. ` +
    `Expired what was granted up to ${nameOf(months.grantedUpTo)}: ${counts}`
  );
}

/** Formats `"2026-11"` as `November 2026 (2026-11)`. */
function nameOf(month: MonthEndMonths["month"]): string {
  const format = { month: "long", year: "numeric", timeZone: "UTC" } as const;
  return `${new Date(`${month}-01`).toLocaleDateString("en", format)} (${month})`;
}

function namesOf({ failed, failures }: MonthEndTotal): string {
  const names = failures.slice(0, maxNamed).map(({ userId, reason }) => `${userId} (${reason})`);
  const rest = failed > names.length ? ` and ${failed - names.length} more` : "";
  return names.join(", ") + rest;
}

function incomplete(result: MonthEndFailure) {
  const message =
    `could not expire what is due in ${result.failed} accounts, which are left to the next run: ` +
    namesOf(result);
  return refuse(message, monthEndIncomplete, [result]);
}
