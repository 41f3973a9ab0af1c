/** The reconciler: one long run that looks after reservations and holds, pass after pass. */
import { TemporalFailure } from "@temporalio/common";
import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type {
  OverdueCounts,
  OverdueStepResult,
  ReconcilerInput,
  SyncCounts,
} from "../src/contract/reconciler.ts";
import { counted } from "../src/domain/counted.ts";
import { escapeMarkdown } from "../src/domain/markdown.ts";
import { orRefusal } from "./failures.ts";
import { workOnLanes } from "./overdue-lanes.ts";
import { reconcilerTiming } from "./timing.ts";

const { intervalMs, minPauseMs, overlapMs, firstMs, maxPasses } = reconcilerTiming;

const { executeOverdue } = proxyActivities<Activities>(reconcilerTiming.executeOverdue);
const { syncRuns } = proxyActivities<Activities>(reconcilerTiming.syncRuns);

/** The lanes of the program that a pass has come to, and those of the programs behind it. */
const ways = 8;

/**
 * Executes the reservations and releases the holds that are overdue, every 30 s, and corrects
 * workflow runs that are not in line with their records. The correction runs beside the passes:
 * while Temporal or a long list slows it down, no reservation waits for it.
 */
export async function reconciler(input?: ReconcilerInput): Promise<void> {
  const since = input?.since;
  let from = since === undefined ? Date.now() - firstMs : Date.parse(since);
  let pass = "";
  let runs = "Runs are being checked.";
  let monthEnds = "";
  let isSyncing = false;
  const show = () => setCurrentDetails(escapeMarkdown(`${pass} ${runs}${monthEnds}`));
  const sync = async (start: number) => {
    isSyncing = true;
    const counts = await syncOnce(from);
    isSyncing = false;
    if (counts) from = start - overlapMs;
    runs = describeRuns(counts);
    if (counts?.behind) monthEnds = describeBehind(counts);
    show();
  };
  let passes = 0;
  do {
    const start = Date.now();
    if (!isSyncing) void sync(start);
    const { counts, wasDivided } = await executeAll();
    pass = describePass(start, counts);
    show();
    // Only a worker that knows lanes can replay them, so they do not stay in the history for long.
    passes = wasDivided ? maxPasses : passes + 1;
    await sleep(Math.max(minPauseMs, start + intervalMs - Date.now()));
  } while (isSyncing || !(passes >= maxPasses || workflowInfo().continueAsNewSuggested));
  await continueAsNew<typeof reconciler>({ since: new Date(from).toISOString() });
}

const nothing: OverdueCounts = {
  overdue: 0,
  oldest_ms: 0,
  granted: 0,
  refused: 0,
  failed: 0,
  failures: [],
};

/**
 * One step, or as many as a worker of the previous version needs. What is left after the first step
 * of a current worker is divided into lanes, which all workers share. A run with so long a history
 * that it would drop them, and which waits for `syncRuns` before it continues as new, takes step
 * after step instead.
 */
async function executeAll(): Promise<{ counts: OverdueCounts; wasDivided: boolean }> {
  let step: OverdueStepResult = nothing;
  do {
    const isLong = workflowInfo().continueAsNewSuggested;
    step = await orRefusal(executeOverdue({ ...step, ...(!isLong && { ways }) }));
  } while (step.cursor !== undefined && !step.lanes);
  const { lanes, cursor: _, ...counts } = step;
  if (!lanes) return { counts, wasDivided: false };
  return { counts: await workOnLanes(lanes, counts), wasDivided: true };
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

function describePass(start: number, counts: OverdueCounts): string {
  const { overdue, granted, refused, released, failed, failures } = counts;
  const names = failures.slice(0, 20).map((each) => {
    const id = "hold_id" in each ? each.hold_id : each.reservation_id;
    return `${id} (${each.reason})`;
  });
  const holds = released === undefined ? "" : `, ${counted(released, "hold")} released`;
  const left = failed > 0 ? `, ${failed} left to the next pass: ${names.join(", ")}` : "";
  return (
    `Pass of ${new Date(start).toISOString()}. Overdue: ${overdue}, of which ${granted} granted, ` +
    `${refused} refused${holds}${left}.`
  );
}

function describeRuns(counts: SyncCounts | undefined): string {
  if (!counts) return "Runs could not be checked.";
  return (
    `Runs: ${counted(counts.synced, "change")} sent again, ${counts.restarted} started again, ` +
    `${counts.terminated} terminated, ${counts.failed} failed.`
  );
}

/** An operator reads in it whether the month ends are done everywhere. */
function describeBehind({ behind = [], behind_count: count = 0 }: SyncCounts): string {
  if (count === 0) return " No month end is behind.";
  const names = behind.map(
    ({ program_id, months }) => `${program_id} (${counted(months, "month")})`,
  );
  const rest = count > names.length ? ` and ${count - names.length} more` : "";
  return ` Month ends are behind in ${names.join(", ")}${rest}.`;
}
