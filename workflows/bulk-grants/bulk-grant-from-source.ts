/** The workflow by which a batch job submits a sheet of a source and waits for the outcome. */
import { defineSearchAttributeKey } from "@temporalio/common";
import {
  CancellationScope,
  continueAsNew,
  proxyActivities,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import {
  type BlocksLeft,
  type BulkGrantResult,
  bulkGrantHowToEnd,
  bulkGrantWorkflowId,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import type { BulkGrantInput } from "../../src/bulk-grants/contract/payloads.ts";
import {
  type BulkGrantFromSourceInput,
  type SubmittedFromSource,
  waitHowToEnd,
} from "../../src/bulk-grants/contract/sheet-sources.ts";
import { type BulkGrantState, finalStates } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { showDetails } from "../details.ts";
import { unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { pollTiming, sourceTiming } from "../timing.ts";
import { followBulkGrant, resultOf } from "./bulk-grant.ts";
import { createBulkRun } from "./bulk-grant-run.ts";

/** Set by Temporal when a schedule has started the run. */
const scheduledKey = defineSearchAttributeKey("TemporalScheduledStartTime", "DATETIME");

const { submitFromSource } = proxyActivities<Activities>(sourceTiming.submit);

const { advanceBulkGrant } = proxyActivities<Activities>(sourceTiming.readRecord);

/**
 * Submits a sheet under the identity of its source, as an upload does. A run with the workflow id
 * of the bulk grant follows it from there on. Any other run, such as one of a schedule, waits until
 * the bulk grant has ended, and returns the same result; cancelling it ends only the wait. Started
 * twice, it is one bulk grant. A refusal fails the workflow with its reason.
 */
export async function bulkGrantFromSource(
  input: BulkGrantFromSourceInput,
): Promise<BulkGrantResult> {
  const sheet = { program_id: "string", bulk_grant_id: "string", source: "string" } as const;
  const texts = { title: "string?", cause: "string?", subject: "string?" } as const;
  const times = { execute_time: "time?", expire_month: "string?" } as const;
  requireFields(input, { ...sheet, ...texts, ...times, encoding: "string?" });
  const submitted = input.submitted ?? (await submit(input));
  const { program_id, bulk_grant_id, is_own } = submitted;
  const key = { program_id, bulk_grant_id };
  const continueWith = (left?: BlocksLeft) =>
    continueAsNew<typeof bulkGrantFromSource>({
      ...input,
      submitted: { ...key, is_own, left },
    });
  if (!is_own) {
    showDetails(
      waitHowToEnd,
      `Waits for ${escapeMarkdown(bulkGrantWorkflowId(program_id, bulk_grant_id))}.`,
      true,
    );
    return awaitEnd(key, continueWith);
  }
  const run = createBulkRun(key);
  return CancellationScope.nonCancellable(() => followBulkGrant(run, submitted.left, continueWith));
}

/** A requested cancellation waits for the submission, so that what is submitted is cancelled. */
function submit(input: BulkGrantFromSourceInput): Promise<SubmittedFromSource> {
  const { program_id, bulk_grant_id, source, title, cause, subject, execute_time } = input;
  const { expire_month, encoding, skip_zero } = input;
  const { startTime, typedSearchAttributes, workflowId } = workflowInfo();
  const start = typedSearchAttributes.get(scheduledKey) ?? startTime;
  const isOwn = workflowId === bulkGrantWorkflowId(program_id, bulk_grant_id);
  const howToEnd = isOwn ? bulkGrantHowToEnd : waitHowToEnd;
  showDetails(howToEnd, `Submits ${escapeMarkdown(source)}.`, true);
  return CancellationScope.nonCancellable(() =>
    unwrapRefusal(
      submitFromSource({
        program_id,
        bulk_grant_id,
        source,
        title,
        cause,
        subject,
        execute_time,
        expire_month,
        encoding,
        skip_zero,
        start_time: start.toISOString(),
      }),
    ),
  );
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
