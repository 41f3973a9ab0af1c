/** The workflow that notifies the members of a program of points that expire soon. */
import { continueAsNew, proxyActivities } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { endsRunOfSchedule } from "../../src/platform/contract/how-to-end.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import {
  type ExpiryNoticesCounts,
  type ExpiryNoticesInput,
  type ExpiryNoticesResult,
  expiryNoticesIncomplete,
} from "../../src/points/contract/notices.ts";
import { failedNames, shardCount } from "../../src/points/contract/points.ts";
import { showDetails } from "../details.ts";
import { refuse, unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { allShards, sweep } from "../sweep.ts";
import { withState } from "../sweep-state.ts";
import { sweepTiming } from "../timing.ts";

/** The number of shards that are processed concurrently. */
const concurrency = 4;

const { readAnnouncedMonth } = proxyActivities<Activities>(sweepTiming.month);
const { notifyExpiring } = proxyActivities<Activities>(sweepTiming.shard);

const nothing: ExpiryNoticesCounts = { notified: 0, unaffected: 0, failed: 0, failures: [] };

/**
 * Notifies the owners of the accounts whose points expire at the next month boundary. The month is
 * read once, so that a run that goes on after the boundary notifies nobody of the month after it.
 * May run twice. Fails with EXPIRY_NOTICES_INCOMPLETE when all shards are done and some accounts
 * failed, so that an operator triggers the schedule again before the points expire.
 */
export async function expiryNotices(input: ExpiryNoticesInput): Promise<ExpiryNoticesResult> {
  return withState(() => notify(input));
}

async function notify(input: ExpiryNoticesInput): Promise<ExpiryNoticesResult> {
  requireFields(input, { program_id: "string" });
  const { program_id, so_far } = input;
  const { month } = so_far ?? (await unwrapRefusal(readAnnouncedMonth({ program_id })));
  if (month === undefined) {
    return ended(nothing, { report: "The program notifies nobody of points that expire now." });
  }
  const { sum, left } = await sweep(
    so_far ?? { sum: nothing, left: allShards() },
    concurrency,
    (part) => {
      const summary = `shard ${part.shard + 1} of ${shardCount}`;
      return notifyExpiring.executeWithOptions({ summary }, [{ program_id, month, ...part }]);
    },
    (sum) => showDetails(endsRunOfSchedule(), escapeMarkdown(reportOf(month, sum))),
  );
  if (left.length > 0) {
    await continueAsNew<typeof expiryNotices>({ program_id, so_far: { month, sum, left } });
  }
  const report = reportOf(month, sum);
  if (sum.failed > 0) throw refuse(report, expiryNoticesIncomplete, [{ month, ...sum }]);
  return ended(sum, { month, report });
}

function ended(
  { failures: _, ...counts }: ExpiryNoticesCounts,
  result: Pick<ExpiryNoticesResult, "month" | "report">,
): ExpiryNoticesResult {
  showDetails(endsRunOfSchedule(), escapeMarkdown(result.report));
  return { ...counts, ...result };
}

/** The month, the counts and the first accounts that failed, as an operator reads them. */
function reportOf(month: string, counts: ExpiryNoticesCounts): string {
  const { notified, unaffected, failed } = counts;
  return (
    `Points that expire at the start of ${month}: ${quantity(notified, "member")} notified, ` +
    `${quantity(unaffected, "account")} without such points, ` +
    `${failed.toLocaleString("en")} failed` +
    failedNames(counts)
  );
}
