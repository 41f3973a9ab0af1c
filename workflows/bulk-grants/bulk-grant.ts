/** The workflow of a bulk grant: validates, waits for approvals and its time, runs and reports. */

import { CancelledFailure } from "@temporalio/common";
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import {
  type BlockRange,
  type BlocksLeft,
  type BlocksResult,
  type BulkGrantResult,
  type BulkGrantRunInput,
  type BulkGrantView,
  bulkTaskQueue,
  rangeCount,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import type { BulkGrantInput } from "../../src/bulk-grants/contract/payloads.ts";
import { orNothing, unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { bulkGrantTiming } from "../timing.ts";
import { type BulkRun, createBulkRun } from "./bulk-grant-run.ts";

/**
 * Follows the record of a bulk grant that is submitted. The record decides. Cancelling the run
 * cancels the bulk grant, as CancelBulkGrant does. A refusal fails the workflow, not retryable,
 * with the reason as the type of the failure.
 */
export async function bulkGrant(input: BulkGrantRunInput): Promise<BulkGrantResult> {
  requireFields(input, { program_id: "string", bulk_grant_id: "string" });
  const { program_id, bulk_grant_id } = input;
  const key: BulkGrantInput = { program_id, bulk_grant_id };
  const run = createBulkRun(key);
  return CancellationScope.nonCancellable(() =>
    followBulkGrant(run, input.left, (left) => continueAsNew<typeof bulkGrant>({ ...key, left })),
  );
}

const { pausedMs } = bulkGrantTiming;

/** Steps over blocks of rows, on a task queue of their own. */
const onBlocks = (summary: string) =>
  proxyActivities<Activities>({
    ...bulkGrantTiming.blocks,
    taskQueue: bulkTaskQueue(workflowInfo().taskQueue),
    summary,
  });

const { completeValidation, finishRun } = proxyActivities<Activities>(bulkGrantTiming.end);

const { announceBulkGrant, remindOfApproval, writeFailuresToSource, reportOutcome } =
  proxyActivities<Activities>(bulkGrantTiming.report);

/**
 * Follows the record until nothing is left to be done, and returns the result. `continueWith`
 * continues as new with the blocks that are left, when the history is long. A run whose bulk grant
 * is cancelled by a cancellation of the run ends as Canceled.
 */
export async function followBulkGrant(
  run: BulkRun,
  leftAtStart: BlocksLeft | undefined,
  continueWith: (left: BlocksLeft | undefined) => Promise<never>,
): Promise<BulkGrantResult> {
  let left = leftAtStart;
  let view = await run.read();
  // Messages are sent one after another beside the steps, so that Slack delays none of them.
  let announced: Promise<unknown> = Promise.resolve();
  for (;;) {
    run.show(view);
    if (view.announcement !== undefined) {
      announced = announced.then(() => tried(announceBulkGrant, run));
    }
    if (view.step === "END" || view.step === "REPORT") await announced;
    if (view.step === "END") {
      await condition(allHandlersFinished);
      if (!run.isRefreshRequested()) return end(view, run);
    }
    const next = await proceed();
    if (workflowInfo().continueAsNewSuggested) {
      await announced;
      await condition(allHandlersFinished);
      // The next run reads the record first, so a requested refresh is not lost. It would not know
      // of a requested cancellation, so this one follows that to its end.
      if (!run.isCancelRequested()) await continueWith(left);
    }
    view = next && !run.isRefreshRequested() ? next : await run.read();
  }

  /** Does what follows from the record. Returns what follows next, if that is known. */
  async function proceed(): Promise<BulkGrantView | undefined> {
    const { key } = run;
    const { revision } = view;
    switch (view.step) {
      case "VALIDATE":
        if (await areBlocksLeft("VALIDATE")) return undefined;
        left = undefined;
        return seen(() => completeValidation({ ...key, revision }));
      case "AWAIT_APPROVAL":
        if (!(await run.awaitRefresh(view.wait_ms ?? pausedMs))) await tried(remindOfApproval, run);
        return undefined;
      case "AWAIT_TIME":
        await run.awaitRefresh(view.wait_ms ?? pausedMs);
        return undefined;
      case "PAUSED":
        await run.awaitRefresh(pausedMs);
        return undefined;
      case "RUN":
        if (await areBlocksLeft("RUN")) return undefined;
        left = undefined;
        return seen(() => finishRun({ ...key, run: view.run }));
      case "FINISH":
        return seen(() => finishRun({ ...key, run: view.run }));
      case "REPORT":
        return report(run, view);
      default:
        return undefined;
    }
  }

  /**
   * Works on the blocks of a step, and notes which are left. When none is left, the store decides:
   * a step that is not over there works on all blocks again, and skips those that are done.
   */
  async function areBlocksLeft(step: BlocksLeft["step"]): Promise<boolean> {
    const blocks = blocksOf(view, step, left);
    const ranges = await run.whileRowsRun(() =>
      workOnRanges(blocks.ranges, (range) => workOnRange(step, range)),
    );
    left = { ...blocks, ranges };
    return ranges.length > 0;
  }

  async function workOnRange(step: BlocksLeft["step"], range: BlockRange) {
    const input = { ...run.key, revision: view.revision, run: view.run, ...range };
    const summary = `blocks ${range.from + 1} to ${range.to} of ${view.block_count}`;
    const { runBlocks, validateBlocks } = onBlocks(summary);
    const activity = step === "RUN" ? runBlocks : validateBlocks;
    const result = await unwrapRefusal(activity(input));
    const { counts, rows } = result;
    if (counts && rows) {
      view = { ...view, counts, rows };
      run.show(view);
    }
    return result;
  }
}

/** The next step, as the store has it. */
const seen = (ask: () => Promise<BulkGrantView>): Promise<BulkGrantView> => unwrapRefusal(ask());

/** Reports something to people. What cannot be sent is left out. */
const tried = (report: (key: BulkGrantInput) => Promise<object>, { key }: BulkRun) =>
  orNothing(report(key));

/** Reports the outcome. What is not reported for certain is read from the record again. */
async function report(
  run: BulkRun,
  { source, state, counts: { failed_count, not_run_count } }: BulkGrantView,
): Promise<BulkGrantView | undefined> {
  if (source !== undefined && (state === "INVALID" || failed_count + not_run_count > 0)) {
    await tried(writeFailuresToSource, run);
  }
  return orNothing(reportOutcome(run.key));
}

function end(view: BulkGrantView, run: BulkRun): BulkGrantResult {
  // Temporal shows the run as Canceled only for this failure.
  if (view.state === "CANCELLED" && run.isCancelRequested()) {
    throw new CancelledFailure("the bulk grant is cancelled");
  }
  return resultOf(view);
}

/** The result of a bulk grant that has ended. */
export const resultOf = (view: BulkGrantView): BulkGrantResult => ({
  program_id: view.program_id,
  bulk_grant_id: view.bulk_grant_id,
  state: view.state,
  revision: view.revision,
  digest: view.digest,
  counts: view.counts,
  counts_final_time: view.counts_final_time,
});

/** The blocks that a step of the view has to work on: those of `left`, if they are of this step. */
function blocksOf(
  { revision, run, block_count }: BulkGrantView,
  step: BlocksLeft["step"],
  left: BlocksLeft | undefined,
): BlocksLeft {
  const isSame = left?.step === step && left.revision === revision && left.run === run;
  return isSame ? left : { step, revision, run, ranges: rangesOf(block_count) };
}

/** Contiguous ranges of about the same length. */
function rangesOf(blocks: number): BlockRange[] {
  const count = rangeCount(blocks);
  const start = (index: number) => Math.floor((index * blocks) / count);
  return Array.from({ length: count }, (_, i) => ({ from: start(i), to: start(i + 1) }));
}

/**
 * Works on the ranges, one bounded step after another and at least one for each, until all are
 * done, one is stopped by the record, or the history is so long that the workflow should continue
 * as new. Returns the ranges that are left.
 */
async function workOnRanges(
  ranges: readonly BlockRange[],
  step: (range: BlockRange) => Promise<BlocksResult>,
): Promise<BlockRange[]> {
  let isStopped = false;
  const work = async ({ from, to }: BlockRange): Promise<BlockRange> => {
    let next = from;
    do {
      const result = await step({ from: next, to });
      next = result.next ?? to;
      if (result.stopped) isStopped = true;
    } while (next < to && !isStopped && !workflowInfo().continueAsNewSuggested);
    return { from: next, to };
  };
  const left = await Promise.all(ranges.map(work));
  return left.filter(({ from, to }) => from < to);
}
