/** The workflow by which a batch job submits rows in its input, and waits for the outcome. */
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
import type { BulkGrantOfRows } from "../../src/bulk-grants/contract/payloads.ts";
import type {
  BulkGrantRowsInput,
  SubmittedByRun,
} from "../../src/bulk-grants/contract/sheet-sources.ts";
import { unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { sourceTiming } from "../timing.ts";
import { followSubmitted, showSubmission } from "./follow-submitted.ts";

const { submitRows } = proxyActivities<Activities>(sourceTiming.submit);

/**
 * Submits up to 10,000 rows under the name of who has started the run. Otherwise it is as
 * `bulkGrantFromSource`: it follows the bulk grant, or waits for its end, and started twice it is
 * one bulk grant. A refusal fails the workflow, not retryable, with its reason.
 */
export async function bulkGrantRows(input: BulkGrantRowsInput): Promise<BulkGrantResult> {
  requireFields(input, { program_id: "string", bulk_grant_id: "string" });
  const submitted = input.submitted ?? (await submit(input));
  const { program_id, bulk_grant_id } = submitted;
  // The next run needs the rows no more, which would be in its history once again.
  return followSubmitted(submitted, (next) =>
    continueAsNew<typeof bulkGrantRows>({ program_id, bulk_grant_id, submitted: next }),
  );
}

/** A requested cancellation waits for the submission, so that what is submitted is cancelled. */
function submit(input: BulkGrantOfRows): Promise<SubmittedByRun> {
  const { program_id, bulk_grant_id } = input;
  showSubmission(
    workflowInfo().workflowId === bulkGrantWorkflowId(program_id, bulk_grant_id),
    "the rows of its input",
  );
  return CancellationScope.nonCancellable(() => unwrapRefusal(submitRows(input)));
}
