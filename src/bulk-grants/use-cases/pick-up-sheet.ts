/** The use cases of a pick-up: submits a new file, moves it, and reports what was refused. */

import type { Audit } from "../../platform/words/audit.ts";
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { PickUpReport } from "../ports/bulk-grants.ts";
import type { Deps, WorkerDeps } from "../ports/deps.ts";
import { type BulkGrantName, finalStates, type SheetAddress } from "../rules/bulk-grant.ts";
import { bulkGrantIdRule, isBulkGrantId } from "../rules/bulk-grant-id.ts";
import { changeBulkGrant } from "./bulk-grant-record.ts";
import { foundText } from "./found-text.ts";
import { bulkGrantIdIn } from "./read-sheet.ts";
import type { Submitted } from "./submit.ts";
import { submitFromSource } from "./submit-from-source.ts";

/** A new file, and the campaign to which it belongs unless its rows name another one. */
interface PickedUpFile extends BulkGrantName {
  readonly source: string;
  readonly title: string;
  readonly starter: Caller;
  readonly audit?: Audit | undefined;
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
    const { csv, encoding } = await deps.bulkSources.open(source, programId);
    const bulkGrantId = checked(await bulkGrantIdIn(csv, encoding)) ?? nameOfFile;
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
  if (bulkGrantId === undefined || isBulkGrantId(bulkGrantId)) return bulkGrantId;
  const text = `bulk_grant_id: ${bulkGrantIdRule}; ${foundText(bulkGrantId)}`;
  throw new DomainError("INVALID_REQUEST", text, { field: "bulk_grant_id" });
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

/** A sheet of a source, and the bulk grant to which it was submitted, if it was. */
interface MovedSheet {
  readonly source: string;
  readonly to: "done" | "failed";
  readonly bulkGrant: BulkGrantName | undefined;
}

/**
 * Moves the sheet, and keeps in the bulk grant whose revision it is where it is then, so that
 * messages lead there. Returns where; undefined when the sheet is not there any more.
 */
export async function moveSheet(
  deps: Pick<WorkerDeps, "engine" | "bulkSources">,
  { source, to, bulkGrant }: MovedSheet,
): Promise<SheetAddress | undefined> {
  const movedTo = await deps.bulkSources.move(source, to);
  if (movedTo && bulkGrant) {
    await changeBulkGrant(deps, bulkGrant, (record) =>
      record.revision.source === source ? { ...record, movedTo } : record,
    );
  }
  return movedTo;
}

/** A pick-up sends at most this many messages: one for each sheet, or one for all. */
const maxMessages = 5;

/**
 * Sends a message for each sheet, or one for all when there are more than five. Throws the error of
 * the first message that was not sent, and then sends no further message. Must not be repeated.
 */
export async function reportPickUp(
  { reporter }: Pick<Deps, "reporter">,
  report: PickUpReport,
): Promise<void> {
  const { sheets, moreCount } = report;
  const reports =
    sheets.length + moreCount > maxMessages
      ? [report]
      : sheets.map((sheet) => ({ ...report, sheets: [sheet] }));
  for (const each of reports) await reporter.sendPickUp(each);
}
