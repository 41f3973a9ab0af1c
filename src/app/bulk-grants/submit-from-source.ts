/** The use case that submits a sheet of a configured source. */
import { asService } from "../../domain/caller.ts";
import type { Deps } from "../ports/deps.ts";
import { type Submission, type Submitted, submitBulkGrant } from "./submit.ts";

/**
 * Submits the sheet under the identity of its source. Refusals: INVALID_REQUEST when there is no
 * such source or file, those of the sheet, and those of `submitBulkGrant`.
 */
export async function submitFromSource(
  deps: Parameters<typeof submitBulkGrant>[0] & Pick<Deps, "bulkSources">,
  submission: Omit<Submission, "submitter" | "reversedBulkGrantId"> & { readonly source: string },
): Promise<Submitted> {
  const { identity, csv } = await deps.bulkSources.open(submission.source);
  return submitBulkGrant(deps, { ...submission, submitter: asService(identity) }, { csv });
}
