/** The use case that submits the rows which somebody has put into the input of a run. */

import { withoutControls } from "../../platform/words/controls.ts";
import { cutToBytes, maxTitleBytes, readDisplayText } from "../../platform/words/display-text.ts";
import { runSource } from "../rules/run-source.ts";
import type { NewRow } from "./read-rows.ts";
import { type Submission, type Submitted, submitBulkGrant } from "./submit.ts";

/** The most bytes of a workflow id that a source string has. */
const maxWorkflowIdBytes = 128;

/** A row of a run's input. */
type RowOfRun = Pick<NewRow, "userId" | "points" | "expireMonth"> & {
  readonly reason?: string | undefined;
};

/**
 * Submits the rows under the name of who has started the run. Temporal does not verify that name,
 * so the rules of the program have to name Temporal as a source: else any client of Temporal could
 * grant what needs no approval. Refusals: INVALID_REQUEST as `readDisplayText` and for no rows,
 * PERMISSION_DENIED, and those of `submitBulkGrant`.
 */
export async function submitRowsOfRun(
  deps: Parameters<typeof submitBulkGrant>[0],
  { workflowId, ...submission }: Omit<Submission, "source"> & { readonly workflowId: string },
  rows: readonly RowOfRun[],
): Promise<Submitted> {
  const title = readDisplayText(submission.title ?? "", maxTitleBytes, "title");
  const id = cutToBytes(withoutControls(workflowId), maxWorkflowIdBytes);
  const source = `${runSource}/${id}`;
  return submitBulkGrant(deps, { ...submission, title, source }, { rows: eachOf(rows) });
}

async function* eachOf(rows: readonly RowOfRun[]): AsyncGenerator<NewRow, void> {
  for (const { reason = "", ...row } of rows) yield { ...row, reason };
}
