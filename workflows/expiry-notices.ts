/** The workflow that notifies the members of a program of points that expire soon. */
import { ApplicationFailure, defineSearchAttributeKey } from "@temporalio/common";
import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  type ExpiryNoticesCounts,
  type ExpiryNoticesInput,
  type ExpiryNoticesResult,
  expiryNoticesIncomplete,
} from "../src/contract/notices.ts";
import { maxReports, shardCount } from "../src/contract/points.ts";
import { searchAttributes } from "../src/contract/search-attributes.ts";
import { orRefusal, refuse } from "./failures.ts";
import { workOn } from "./parts.ts";
import { sweepTiming } from "./timing.ts";

const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");

/** The number of shards that are processed concurrently. */
const concurrency = 4;

/** The report names at most this many accounts; the details of the failure name 100. */
const maxNamed = 20;

const { readAnnouncedMonth } = proxyActivities<Activities>(sweepTiming.readMonth);
const { notifyExpiring } = proxyActivities<Activities>(sweepTiming.shard);

type Shards = NonNullable<ExpiryNoticesInput["shards"]>;

/**
 * Notifies the owners of the accounts whose points expire at the next month boundary. The month is
 * read once, so that a run that goes on after the boundary notifies nobody of the month after it.
 * May run twice. Fails with EXPIRY_NOTICES_INCOMPLETE when all shards are done and some accounts
 * failed, so that an operator triggers the schedule again before the points expire.
 */
export async function expiryNotices(input: ExpiryNoticesInput): Promise<ExpiryNoticesResult> {
  try {
    const result = await notify(input);
    upsertSearchAttributes([{ key: stateKey, value: "DONE" }]);
    return result;
  } catch (error) {
    if (error instanceof ApplicationFailure) {
      upsertSearchAttributes([{ key: stateKey, value: "FAILED" }]);
    }
    throw error;
  }
}

async function notify(input: ExpiryNoticesInput): Promise<ExpiryNoticesResult> {
  const { program_id } = input;
  const { month } = input.month ? input : await orRefusal(readAnnouncedMonth({ program_id }));
  const { notified = 0, unaffected = 0, failed = 0, failures = [] } = input;
  let total: ExpiryNoticesCounts = { notified, unaffected, failed, failures };
  if (month === undefined) return ended("The program notifies nobody of points that expire now.");
  setCurrentDetails(reportOf(month, total));
  const shards: Shards =
    input.shards ?? Array.from({ length: shardCount }, (_, shard) => ({ shard }));
  const left = await workOn(shards, concurrency, async (part) => {
    const summary = `shard ${part.shard + 1} of ${shardCount}`;
    const result = await orRefusal(
      notifyExpiring.executeWithOptions({ summary }, [{ program_id, month, ...part }]),
    );
    total = added(total, result);
    setCurrentDetails(reportOf(month, total));
    return result.cursor;
  });
  if (left.length > 0) {
    await continueAsNew<typeof expiryNotices>({ program_id, month, shards: left, ...total });
  }
  const report = reportOf(month, total);
  if (total.failed > 0) throw refuse(report, expiryNoticesIncomplete, [{ month, ...total }]);
  return ended(report);

  function ended(report: string): ExpiryNoticesResult {
    setCurrentDetails(report);
    const { failures: _, ...counts } = total;
    return { ...counts, ...(month !== undefined && { month }), report };
  }
}

const added = (total: ExpiryNoticesCounts, next: ExpiryNoticesCounts): ExpiryNoticesCounts => ({
  notified: total.notified + next.notified,
  unaffected: total.unaffected + next.unaffected,
  failed: total.failed + next.failed,
  failures: [...total.failures, ...next.failures].slice(0, maxReports),
});

/** The month, the counts and the first accounts that failed, as an operator reads them. */
function reportOf(month: string, { notified, unaffected, failed, failures }: ExpiryNoticesCounts) {
  const count = (accounts: number) => accounts.toLocaleString("en");
  const names = failures.slice(0, maxNamed).map(({ userId, reason }) => `${userId} (${reason})`);
  const rest = failed > names.length ? ` and ${count(failed - names.length)} more` : "";
  return (
    `Points that expire at the start of ${month}: ${count(notified)} members notified, ` +
    `${count(unaffected)} accounts without such points, ${count(failed)} failed` +
    (failed > 0 ? `: ${names.join(", ")}${rest}` : "")
  );
}
