/** The workflow of a bulk grant: validates, waits for approvals and its time, runs and reports. */
import { CancellationScope, continueAsNew } from "@temporalio/workflow";
import type {
  BulkGrantInput,
  BulkGrantResult,
  BulkGrantRunInput,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import { requireTexts } from "../failures.ts";
import { createBulkRun } from "./bulk-grant-run.ts";
import { followBulkGrant } from "./bulk-grant-steps.ts";

/**
 * Follows the record of a bulk grant that is submitted. The record decides. Cancelling the run
 * cancels the bulk grant, as CancelBulkGrant does. A refusal fails the workflow, not retryable,
 * with the reason as the type of the failure.
 */
export async function bulkGrant(input: BulkGrantRunInput): Promise<BulkGrantResult> {
  requireTexts(input, ["program_id", "bulk_grant_id"]);
  const { program_id, bulk_grant_id } = input;
  const key: BulkGrantInput = { program_id, bulk_grant_id };
  const run = createBulkRun(key);
  return CancellationScope.nonCancellable(() =>
    followBulkGrant(run, input.left, (left) =>
      continueAsNew<typeof bulkGrant>({ ...key, ...(left && { left }) }),
    ),
  );
}
