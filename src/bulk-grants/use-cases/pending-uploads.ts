/** Records uploads whose rows belong to no revision yet, so that none leaves rows behind. */

import type { Instant } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import type { Deps } from "../ports/deps.ts";
import { pendingUploadRef } from "../ports/records.ts";

/** Records that rows are about to be stored, so that a cut-off upload can be dropped later. */
export async function startUpload(
  deps: Pick<Deps, "engine">,
  uploadId: string,
  startTime: Instant,
): Promise<void> {
  const ref = pendingUploadRef(uploadId);
  const upload = { uploadId, startTime };
  await changeRecord(deps, { ref, expectAbsent: true }, (existing) => existing ?? upload);
}

/**
 * Deletes the rows of an upload that has not become a revision. The record is marked first, and a
 * commit requires it without the mark, so that no revision can lose its rows.
 */
export async function dropUpload(
  deps: Pick<Deps, "engine" | "sheets">,
  uploadId: string,
): Promise<void> {
  const ref = pendingUploadRef(uploadId);
  const { record: pending } = await changeRecord(deps, { ref }, (upload) =>
    upload && !upload.isDropped ? { ...upload, isDropped: true as const } : upload,
  );
  if (!pending) return;
  await deps.sheets.deleteRows(uploadId);
  await changeRecord(deps, { ref }, () => undefined);
}
