/** Follows a bulk grant that the run has submitted itself, to its end. */
import { CancellationScope, proxyActivities, sleep, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import {
  type BlocksLeft,
  type BulkGrantResult,
  bulkGrantHowToEnd,
  bulkGrantWorkflowId,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import type { BulkGrantInput } from "../../src/bulk-grants/contract/payloads.ts";
import { type SubmittedByRun, waitHowToEnd } from "../../src/bulk-grants/contract/sheet-sources.ts";
import { type BulkGrantState, finalStates } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { showDetails } from "../details.ts";
import { unwrapRefusal } from "../failures.ts";
import { pollTiming, sourceTiming } from "../timing.ts";
import { followBulkGrant, resultOf } from "./bulk-grant.ts";
import { createBulkRun } from "./bulk-grant-run.ts";

const { advanceBulkGrant } = proxyActivities<Activities>(sourceTiming.readRecord);

/** Shows that the run submits `what`, and how it ends. */
export const showSubmission = (isOwn: boolean, what: string): void =>
  showDetails(isOwn ? bulkGrantHowToEnd : waitHowToEnd, `Submits ${what}.`, true);

/**
 * Follows the bulk grant if the run has its workflow id, and otherwise waits until it has ended.
 * `continueWith` continues as new with what is submitted, when the history is long.
 */
export async function followSubmitted(
  submitted: SubmittedByRun,
  continueWith: (submitted: SubmittedByRun) => Promise<never>,
): Promise<BulkGrantResult> {
  const { program_id, bulk_grant_id, is_own } = submitted;
  const key = { program_id, bulk_grant_id };
  const continueLeft = (left?: BlocksLeft) => continueWith({ ...key, is_own, left });
  if (!is_own) {
    showDetails(
      waitHowToEnd,
      `Waits for ${escapeMarkdown(bulkGrantWorkflowId(program_id, bulk_grant_id))}.`,
      true,
    );
    return awaitEnd(key, continueLeft);
  }
  const run = createBulkRun(key);
  return CancellationScope.nonCancellable(() => followBulkGrant(run, submitted.left, continueLeft));
}

/** Reads the record until it is final: Temporal does not let a workflow await another one's. */
async function awaitEnd(
  key: BulkGrantInput,
  continueAgain: () => Promise<never>,
): Promise<BulkGrantResult> {
  const { firstMs, factor, mostMs } = pollTiming;
  for (let pause: number = firstMs; ; pause = Math.min(pause * factor, mostMs)) {
    const view = await unwrapRefusal(advanceBulkGrant(key));
    if (finalStates.has(view.state as BulkGrantState)) return resultOf(view);
    await sleep(pause);
    if (workflowInfo().continueAsNewSuggested) await continueAgain();
  }
}
