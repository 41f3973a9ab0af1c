/** Tests uploads that are dropped while they are under way, and those that come again. */
import { describe, expect, test } from "vitest";
import { bulkGrantRef } from "../../../src/bulk-grants/ports/records.ts";
import { dropUpload } from "../../../src/bulk-grants/use-cases/pending-uploads.ts";
import { submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { openStore, runAll, validate } from "../../support/fixtures/bulk-steps.ts";
import { answerTo, programId } from "../../support/models/bulk-use-cases.ts";

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

describe("an upload whose answer was lost, and that others have replaced,", () => {
  /** Submits rows of 10 points, and runs them without an approval; then the account is unfrozen. */
  async function send(deps: Deps, revision: number, users: readonly string[], frozen?: string) {
    const rows = users.map((userId) => ({ userId, points: 10, reason: "" }));
    const submit = { op: "submit", id: "b", by: "ann", rows, executeTime: undefined } as const;
    const answer = await answerTo(deps, submit);
    if (!("replayed" in answer) || answer.replayed) return answer;
    await validate(deps, "b", revision);
    if (frozen) await answerTo(deps, { op: "freeze", userId: frozen });
    await answerTo(deps, { op: "advance", id: "b" });
    await runAll(deps, "b", revision, revision);
    if (frozen) await answerTo(deps, { op: "unfreeze", userId: frozen });
    return answer;
  }

  test("is answered as its revision when it comes again, and grants nothing", async () => {
    const { deps } = await openStore();
    const rules = { ...defaultBulkRules, requiredApprovalCount: 0 };
    await answerTo(deps, { op: "rules", rules });
    await send(deps, 1, ["aoi", "mallory"], "mallory");
    expect(await send(deps, 2, ["aoi", "chie"])).toMatchObject({ revision: 2, replayed: false });
    expect(await send(deps, 3, ["aoi", "mallory"])).toMatchObject({
      head: { state: "DONE", revision: 2 },
      revision: 1,
      replayed: true,
    });
    const balance = await getBalance(deps, { programId, userId: "mallory" });
    expect(balance.availablePoints).toBe(0);
  });

  test("becomes the next revision when it names the current one", async () => {
    const { deps } = await openStore();
    const rows = (userId: string) => [{ userId, points: 10, reason: "" }];
    const sheet = { op: "submit", id: "b", by: "ann", executeTime: undefined } as const;
    const first = { ...sheet, rows: rows("u1") };
    for (const submitted of [first, { ...sheet, rows: rows("u2") }]) {
      await answerTo(deps, submitted);
      await answerTo(deps, { op: "cancel", id: "b", by: "ann" });
    }
    const again = { revision: 3, head: { state: "VALIDATING", revision: 3 } };
    expect(await answerTo(deps, { ...first, replaces: 2 })).toMatchObject(again);
    expect(await answerTo(deps, first)).toMatchObject({ ...again, replayed: true });
  });
});
