/** Works on the lanes of a pass over overdue reservations, as activities that all workers share. */
import { proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import { maxReports } from "../src/contract/points.ts";
import type { OverdueCounts, OverdueLane, OverdueStepResult } from "../src/contract/reconciler.ts";
import { orRefusal } from "./failures.ts";
import { reconcilerTiming } from "./timing.ts";

/** Without eager dispatch, which gives the first lanes to the worker of the workflow task. */
const { executeOverdue } = proxyActivities<Activities>({
  ...reconcilerTiming.executeOverdue,
  allowEagerDispatch: false,
});

/** How many lanes are under way at a time. */
const concurrency = 16;

/**
 * Works on the lanes in bounded steps, which take turns, and returns the counts of the whole pass.
 * A step that ends inside a long shard divides its lane, so that what is behind the shard does not
 * wait for it. When the history is so long that the workflow should continue as new, the lanes that
 * are left are dropped: the next pass begins at the start, where nothing is overdue any more. It is
 * not divided in this run.
 */
export async function workOnLanes(
  lanes: readonly OverdueLane[],
  start: OverdueCounts,
): Promise<OverdueCounts> {
  const queue = [...lanes];
  let counts = start;
  let running = 0;
  const startNext = async (): Promise<void> => {
    if (workflowInfo().continueAsNewSuggested) return;
    const next = queue.splice(0, concurrency - running);
    running += next.length;
    await Promise.all(next.map(step));
  };
  const step = async (lane: OverdueLane): Promise<void> => {
    const before = { ...counts, failures: [] };
    const result = await orRefusal(executeOverdue({ ...before, ...lane, ways: 1 }));
    counts = added(counts, before, result);
    queue.push(...leftOf(lane, result));
    running -= 1;
    await startNext();
  };
  await startNext();
  // A step without records, so that a worker exports the counts of the whole pass.
  const end = lanes.at(-1)?.until;
  if (queue.length === 0 && end) await orRefusal(executeOverdue({ ...counts, cursor: end }));
  return counts;
}

/** A worker of the previous version executes a lane, and all behind it, without dividing it. */
function leftOf({ until }: OverdueLane, result: OverdueStepResult): readonly OverdueLane[] {
  const { cursor, lanes } = result;
  return lanes ?? (cursor === undefined ? [] : [{ cursor, until }]);
}

/** Adds what a step has added to the counts before it. Other steps ran beside it. */
const added = (
  total: OverdueCounts,
  before: OverdueCounts,
  { overdue, oldest_ms, granted, refused, released, failed, failures }: OverdueCounts,
): OverdueCounts => ({
  overdue: total.overdue + overdue - before.overdue,
  oldest_ms: Math.max(total.oldest_ms, oldest_ms),
  granted: total.granted + granted - before.granted,
  refused: total.refused + refused - before.refused,
  // Absent while no hold is released, as in answers of workers without holds.
  ...((total.released ?? released) !== undefined && {
    released: (total.released ?? 0) + (released ?? 0) - (before.released ?? 0),
  }),
  failed: total.failed + failed - before.failed,
  failures: [...total.failures, ...failures].slice(0, maxReports),
});
