/** Tests uploads that are dropped while they are under way. */
import { expect, test } from "vitest";
import { dropUpload } from "../../../src/app/bulk-grants/pending-uploads.ts";
import { submitBulkGrant } from "../../../src/app/bulk-grants/submit.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import { bulkGrantRef } from "../../../src/app/ports/records.ts";
import { asService } from "../../../src/domain/caller.ts";
import { openStore } from "../../support/fixtures/bulk-steps.ts";
import { programId } from "../../support/models/bulk-use-cases.ts";

const submission = { programId, bulkGrantId: "b", submitter: asService("ann") };

/** Submits one row. While the upload is open, `meanwhile` is called with its id. */
function submitWhile(deps: Deps, meanwhile: (uploadId: string) => Promise<unknown>) {
  async function* rows() {
    yield { userId: "u1", points: 10, reason: "" };
    const { items } = await deps.reader.pendingUploads({ size: 10, cursor: undefined });
    for (const { uploadId } of items) await meanwhile(uploadId);
  }
  return submitBulkGrant(deps, submission, { rows: rows() });
}

test("an upload whose rows are being deleted becomes no revision", async () => {
  const { deps } = await openStore();
  const deleteRows = async () => {
    throw new Error("the process ends before the rows are deleted");
  };
  const mortal = { ...deps, sheets: { ...deps.sheets, deleteRows } };
  const dropped = submitWhile(deps, (uploadId) =>
    expect(dropUpload(mortal, uploadId)).rejects.toThrow("the process ends"),
  );
  await expect(dropped).rejects.toMatchObject({ reason: "DEADLINE" });
  expect(await deps.reader.get(bulkGrantRef(programId, "b"))).toBeUndefined();
});

test("an upload whose rows are deleted becomes no revision", async () => {
  const { deps } = await openStore();
  const dropped = submitWhile(deps, (uploadId) => dropUpload(deps, uploadId));
  await expect(dropped).rejects.toMatchObject({ reason: "DEADLINE" });
  expect(await deps.reader.get(bulkGrantRef(programId, "b"))).toBeUndefined();
});
