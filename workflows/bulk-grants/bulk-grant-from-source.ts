/** The workflow by which a batch job submits a sheet of a source and waits for the outcome. */
import { defineSearchAttributeKey } from "@temporalio/common";
import {
  CancellationScope,
  continueAsNew,
  proxyActivities,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import {
  type BulkGrantResult,
  bulkGrantWorkflowId,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import type {
  BulkGrantFromSourceInput,
  SubmittedByRun,
} from "../../src/bulk-grants/contract/sheet-sources.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { sourceTiming } from "../timing.ts";
import { followSubmitted, showSubmission } from "./follow-submitted.ts";

/** Set by Temporal when a schedule has started the run. */
const scheduledKey = defineSearchAttributeKey("TemporalScheduledStartTime", "DATETIME");

const { submitFromSource } = proxyActivities<Activities>(sourceTiming.submit);

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
  return followSubmitted(input.submitted ?? (await submit(input)), (submitted) =>
    continueAsNew<typeof bulkGrantFromSource>({ ...input, submitted }),
  );
}

/** A requested cancellation waits for the submission, so that what is submitted is cancelled. */
function submit(input: BulkGrantFromSourceInput): Promise<SubmittedByRun> {
  const { program_id, bulk_grant_id, source, title, cause, subject, execute_time } = input;
  const { expire_month, encoding, skip_zero } = input;
  const { startTime, typedSearchAttributes, workflowId } = workflowInfo();
  const start = typedSearchAttributes.get(scheduledKey) ?? startTime;
  const isOwn = workflowId === bulkGrantWorkflowId(program_id, bulk_grant_id);
  showSubmission(isOwn, escapeMarkdown(source));
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
