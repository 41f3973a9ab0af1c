/** The reconciler: one long run that looks after the runs of records, pass after pass. */
import { TemporalFailure } from "@temporalio/common";
import { continueAsNew, proxyActivities, sleep, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { endsRunOfSchedule } from "../../src/platform/contract/how-to-end.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import type { ReconcilerInput } from "../../src/reservations/contract/payloads.ts";
import type { SyncCounts } from "../../src/reservations/contract/reconciler.ts";
import { showDetails } from "../details.ts";
import { requireFields } from "../inputs.ts";
import { reconcilerTiming } from "../timing.ts";

const { intervalMs, minPauseMs, overlapMs, firstMs, runMs } = reconcilerTiming;

const { syncRuns } = proxyActivities<Activities>(reconcilerTiming.syncRuns);

/**
 * Corrects workflow runs that are not in line with their records, every 30 s. No grant waits for
 * it: what is overdue is granted by a sweep of each worker.
 */
export async function reconciler(input?: ReconcilerInput): Promise<void> {
  const { since } = input ?? {};
  requireFields({ since }, { since: "time?" });
  let from = since === undefined ? Date.now() - firstMs : Date.parse(since);
  const end = Date.now() + runMs;
  while (Date.now() < end && !workflowInfo().continueAsNewSuggested) {
    const start = Date.now();
    const counts = await syncOnce(from);
    if (counts) from = start - overlapMs;
    showDetails(endsRunOfSchedule(), escapeMarkdown(describePass(start, counts)));
    await sleep(Math.max(minPauseMs, start + intervalMs - Date.now()));
  }
  await continueAsNew<typeof reconciler>({ since: new Date(from).toISOString() });
}

/** Returns undefined when Temporal does not answer the activity. The next pass tries again. */
async function syncOnce(since: number): Promise<SyncCounts | undefined> {
  try {
    return await syncRuns({ since: new Date(since).toISOString() });
  } catch (error) {
    if (error instanceof TemporalFailure) return undefined;
    throw error;
  }
}

const describePass = (start: number, counts: SyncCounts | undefined): string =>
  `Pass of ${new Date(start).toISOString()}. ${describeRuns(counts)}` +
  (counts?.behind ? describeBehind(counts) : "");

function describeRuns(counts: SyncCounts | undefined): string {
  if (!counts) return "Runs could not be checked.";
  return (
    `Runs: ${quantity(counts.synced, "change")} sent again, ${counts.restarted} started again, ` +
    `${counts.terminated} terminated, ${counts.failed} failed.`
  );
}

/** An operator reads in it whether the month ends are done everywhere. */
function describeBehind({ behind = [], behind_count: count = 0 }: SyncCounts): string {
  if (count === 0) return " No month end is behind.";
  const names = behind.map(
    ({ program_id, months }) => `${program_id} (${quantity(months, "month")})`,
  );
  const rest = count > names.length ? ` and ${count - names.length} more` : "";
  return ` Month ends are behind in ${names.join(", ")}${rest}.`;
}
