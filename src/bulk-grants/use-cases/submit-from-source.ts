/** The use case that submits a sheet of a configured source. */

import { asService } from "../../platform/words/caller.ts";
import { maxTitleBytes, readDisplayText } from "../../platform/words/display-text.ts";
import type { WorkerDeps } from "../ports/deps.ts";
import { requireBulkGrantId } from "../rules/bulk-grant-id.ts";
import { type Submission, type Submitted, submitBulkGrant } from "./submit.ts";

/**
 * Submits the sheet under the identity of its source. Refusals: INVALID_REQUEST when there is no
 * such source or file, as `requireBulkGrantId` and `readDisplayText`, PERMISSION_DENIED when the
 * source may not grant in the program, those of the sheet, and those of `submitBulkGrant`.
 */
export async function submitFromSource(
  deps: Parameters<typeof submitBulkGrant>[0] & Pick<WorkerDeps, "bulkSources">,
  submission: Omit<Submission, "submitter" | "sourceUrl" | "reversedBulkGrantId"> & {
    readonly source: string;
  },
): Promise<Submitted> {
  const { source, programId } = submission;
  requireBulkGrantId(submission.bulkGrantId);
  const title = readDisplayText(submission.title ?? "", maxTitleBytes, "title");
  const opened = await deps.bulkSources.open(source, programId);
  const { csv, identity, url: sourceUrl, encoding: sourceEncoding } = opened;
  const submitter = asService(identity);
  const content = { csv, sender: identity, sourceEncoding };
  return submitBulkGrant(deps, { ...submission, title, submitter, sourceUrl }, content);
}
