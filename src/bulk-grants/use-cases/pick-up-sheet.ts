/** The use case that submits a new file of a source, under the name of its campaign. */

import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { type BulkGrantName, finalStates } from "../rules/bulk-grant.ts";
import { idForm } from "./check-row.ts";
import { foundText } from "./found-text.ts";
import { bulkGrantIdIn } from "./read-sheet.ts";
import type { Submitted } from "./submit.ts";
import { submitFromSource } from "./submit-from-source.ts";

/** A new file, and the campaign to which it belongs unless its rows name another one. */
interface PickedUpFile extends BulkGrantName {
  readonly source: string;
  readonly title: string;
  readonly starter: Caller;
}

/**
 * Submits the file to the bulk grant that its rows name in the column bulk_grant_id, or else to
 * that of its own name: as its next revision, if the content is new. Returns undefined when the
 * file is not there any more, or has changed since it was listed. Refusals: those of
 * `submitFromSource`, and WRONG_STATE for a content that grants nothing any more, because its
 * revision was replaced, or had ended before `pickUpTime`.
 */
export async function pickUpSheet(
  deps: Parameters<typeof submitFromSource>[0],
  { bulkGrantId: nameOfFile, ...file }: PickedUpFile,
  pickUpTime: Instant,
): Promise<(BulkGrantName & Pick<Submitted, "revision">) | undefined> {
  const { programId, source } = file;
  try {
    const { csv } = await deps.bulkSources.open(source, programId);
    const bulkGrantId = checked(await bulkGrantIdIn(csv)) ?? nameOfFile;
    const submitted = await submitFromSource(deps, { ...file, bulkGrantId });
    refuseOver(submitted, pickUpTime);
    return { programId, bulkGrantId, revision: submitted.revision };
  } catch (error) {
    if (isGone(error)) return undefined;
    // Some sources report only at the end of the bytes that they belong to another version, but a
    // sheet is refused at its first line that cannot be read.
    const isInvalid = error instanceof DomainError && error.reason === "INVALID_REQUEST";
    if (isInvalid && (await hasChanged(deps, file))) return undefined;
    throw error;
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof DomainError && error.metadata.field === "source";

/** Whether a file is not there any more, or has another version; reads all of it. */
async function hasChanged(
  { bulkSources }: Parameters<typeof submitFromSource>[0],
  { source, programId }: Pick<PickedUpFile, "source" | "programId">,
): Promise<boolean> {
  try {
    const { csv } = await bulkSources.open(source, programId);
    for await (const _ of csv);
    return false;
  } catch (error) {
    if (isGone(error)) return true;
    throw error;
  }
}

function checked(bulkGrantId: string | undefined): string | undefined {
  if (bulkGrantId === undefined || idForm.test(bulkGrantId)) return bulkGrantId;
  const rule = "bulk_grant_id: 1 to 64 visible ASCII characters without #";
  throw new DomainError("INVALID_REQUEST", `${rule}; ${foundText(bulkGrantId)}`, {
    field: "bulk_grant_id",
  });
}

/** A person who drops such a file expects that it is granted. */
function refuseOver({ bulkGrant, revision, replayed }: Submitted, pickUpTime: Instant): void {
  const { bulkGrantId, state, endTime = pickUpTime, revision: current } = bulkGrant;
  if (!replayed) return;
  if (revision !== current.number) {
    const text = `revision ${revision} of ${bulkGrantId} had this content and was replaced`;
    throw new DomainError("WRONG_STATE", text, { state, revision: String(current.number) });
  }
  if (!finalStates.has(state) || endTime >= pickUpTime) return;
  const text =
    state === "DONE"
      ? `${bulkGrantId} has granted this sheet already; another grant needs another name`
      : `${bulkGrantId} is ${state} with this sheet; retry it, or submit it with replaced_revision`;
  throw new DomainError("WRONG_STATE", text, { state });
}
