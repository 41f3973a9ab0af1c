/** The workflow that notifies the members of a program of points that expire soon. */
import { continueAsNew, proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { counted, maxReports } from "../../src/platform/words/counted.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import {
  type ExpiryNoticesCounts,
  type ExpiryNoticesInput,
  type ExpiryNoticesResult,
  expiryNoticesIncomplete,
} from "../../src/points/contract/notices.ts";
import { shardCount } from "../../src/points/contract/points.ts";
import { orRefusal, refuse, requireTexts } from "../failures.ts";
import { allShards, namesOf, workOn } from "../parts.ts";
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
  requireTexts(input, ["program_id"]);
  const { program_id, so_far } = input;
  const { month } = so_far ?? (await orRefusal(readAnnouncedMonth({ program_id })));
  let counts = so_far?.counts ?? nothing;
  if (month === undefined) return ended("The program notifies nobody of points that expire now.");
  setCurrentDetails(escapeMarkdown(reportOf(month, counts)));
  const shards = so_far?.shards ?? allShards();
  const left = await workOn(shards, concurrency, async (part) => {
    const summary = `shard ${part.shard + 1} of ${shardCount}`;
    const result = await orRefusal(
      notifyExpiring.executeWithOptions({ summary }, [{ program_id, month, ...part }]),
    );
    counts = added(counts, result);
    setCurrentDetails(escapeMarkdown(reportOf(month, counts)));
    return result.cursor;
  });
  if (left.length > 0) {
    const so_far = { month, counts, shards: left };
    await continueAsNew<typeof expiryNotices>({ program_id, so_far });
  }
  const report = reportOf(month, counts);
  if (counts.failed > 0) throw refuse(report, expiryNoticesIncomplete, [{ month, ...counts }]);
  return ended(report);

  function ended(report: string): ExpiryNoticesResult {
    setCurrentDetails(escapeMarkdown(report));
    const { failures: _, ...result } = counts;
    return { ...result, ...(month !== undefined && { month }), report };
  }
}

const added = (total: ExpiryNoticesCounts, next: ExpiryNoticesCounts): ExpiryNoticesCounts => ({
  notified: total.notified + next.notified,
  unaffected: total.unaffected + next.unaffected,
  failed: total.failed + next.failed,
  failures: [...total.failures, ...next.failures].slice(0, maxReports),
});

/** The month, the counts and the first accounts that failed, as an operator reads them. */
function reportOf(month: string, counts: ExpiryNoticesCounts): string {
  const { notified, unaffected, failed } = counts;
  return (
    `Points that expire at the start of ${month}: ${counted(notified, "member")} notified, ` +
    `${counted(unaffected, "account")} without such points, ` +
    `${failed.toLocaleString("en")} failed` +
    (failed > 0 ? `: ${namesOf(counts)}` : "")
  );
}
