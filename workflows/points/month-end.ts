/** The month-end sweep: the workflow that expires what is due in the accounts without calls. */
import { defineSearchAttributeKey } from "@temporalio/common";
import {
  continueAsNew,
  proxyActivities,
  upsertSearchAttributes,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { endsRunOfSchedule } from "../../src/platform/contract/how-to-end.ts";
import { searchAttributes } from "../../src/platform/contract/search-attributes.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { nounFor, quantity } from "../../src/platform/words/quantities.ts";
import {
  type MonthEndCounts,
  type MonthEndFailure,
  type MonthEndInput,
  type MonthEndMonths,
  type MonthEndResult,
  monthEndIncomplete,
  monthEndTaskQueue,
} from "../../src/points/contract/month-ends.ts";
import { failedNames, namesOf, shardCount } from "../../src/points/contract/points.ts";
import { showDetails } from "../details.ts";
import { refuse, unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { allShards, sweep } from "../sweep.ts";
import { withState } from "../sweep-state.ts";
import { sweepTiming } from "../timing.ts";

const monthKey = defineSearchAttributeKey(searchAttributes.month, "KEYWORD");

const { readMonthEnd, recordMonthEnd } = proxyActivities<Activities>(sweepTiming.month);
const { expireShard } = proxyActivities<Activities>(sweepTiming.shard);

const nothing: MonthEndCounts = { expired: 0, unchanged: 0, failed: 0, failures: [] };

/**
 * Expires what is due in the accounts of a program. May run twice. Fails with MONTH_END_INCOMPLETE
 * when all shards are done and some accounts failed, so that an operator notices them.
 */
export async function monthEnd(input: MonthEndInput): Promise<MonthEndResult> {
  return withState(() => expireAll(input));
}

async function expireAll(input: MonthEndInput): Promise<MonthEndResult> {
  requireFields(input, { program_id: "string" });
  const { program_id, so_far } = input;
  const months = so_far?.months ?? (await unwrapRefusal(readMonthEnd({ program_id })));
  // A run that continues another one has its values.
  if (!so_far) upsertSearchAttributes([{ key: monthKey, value: months.month }]);
  // Each shard is a partition of the index, whose rate limits it. So all are processed at once, on
  // a task queue of their own.
  const taskQueue = monthEndTaskQueue(workflowInfo().taskQueue);
  const { sum: counts, left } = await sweep(
    so_far ?? { sum: nothing, left: allShards() },
    shardCount,
    (part) => {
      const summary = `shard ${part.shard + 1} of ${shardCount}`;
      return expireShard.executeWithOptions({ summary, taskQueue }, [{ program_id, ...part }]);
    },
    (sum) => showDetails(endsRunOfSchedule(), escapeMarkdown(reportOf(months, sum, "runs"))),
  );
  if (left.length > 0) {
    await continueAsNew<typeof monthEnd>({ program_id, so_far: { months, sum: counts, left } });
  }
  await unwrapRefusal(recordMonthEnd({ program_id, month: months.month, failed: counts.failed }));
  const result = {
    ...counts,
    months,
    report: reportOf(months, counts, counts.failed > 0 ? "is incomplete" : "is done"),
  };
  showDetails(endsRunOfSchedule(), escapeMarkdown(result.report));
  if (counts.failed > 0) throw incomplete(result);
  const { failures: _, ...done } = result;
  return done;
}

/** The months, the counts and the first accounts that failed, as an operator reads them. */
function reportOf(months: MonthEndMonths, counts: MonthEndCounts, progress: string): string {
  const { expired, unchanged, failed } = counts;
  const number = (count: number) => count.toLocaleString("en");
  return (
    `The month end of ${nameOf(months.month)} ${progress}. ` +
    `Expired what was granted up to ${nameOf(months.granted_up_to)}: ` +
    `${quantity(expired, "account")}, ${number(unchanged)} unchanged, ${number(failed)} failed` +
    failedNames(counts)
  );
}

/** Formats `"2026-11"` as `November 2026 (2026-11)`. */
function nameOf(month: MonthEndMonths["month"]): string {
  const format = { month: "long", year: "numeric", timeZone: "UTC" } as const;
  return `${new Date(`${month}-01`).toLocaleDateString("en", format)} (${month})`;
}

function incomplete(result: MonthEndFailure) {
  const message =
    `could not expire what is due in ${quantity(result.failed, "account")}, ` +
    `${nounFor(result.failed, "which is", "which are")} left to the next run: ` +
    namesOf(result);
  return refuse(message, monthEndIncomplete, [result]);
}
