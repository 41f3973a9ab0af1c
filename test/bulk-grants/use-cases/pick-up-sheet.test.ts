/** Tests to which campaign a new file belongs, and which files grant nothing. */
import { expect, test } from "vitest";
import type { SheetEncoding } from "../../../src/bulk-grants/rules/sheet-reading.ts";
import { pickUpSheet } from "../../../src/bulk-grants/use-cases/pick-up-sheet.ts";
import { getBulkGrant } from "../../../src/bulk-grants/use-cases/queries.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { openStore, validate } from "../../support/fixtures/bulk-steps.ts";
import { bytesOf } from "../../support/fixtures/sheets.ts";
import { inlineRows, workbookOf } from "../../support/fixtures/workbooks.ts";
import { answerTo, programId } from "../../support/models/bulk-use-cases.ts";

const starter = { service: "temporal", subject: "schedule/pick-up/nightly" };

/** A store, and a function that picks up a file `b.csv` with this content at a time. */
async function openSource(encoding?: SheetEncoding) {
  const { deps, clock } = await openStore();
  await enforceRules(deps, programId, { sources: ["nightly"] });
  const pickUp = (
    csv: string | DomainError | (() => AsyncIterable<Uint8Array>),
    time = clock.time,
  ) => {
    const open = async () => {
      if (csv instanceof DomainError) throw csv;
      const bytes = typeof csv === "string" ? bytesOf(Buffer.from(csv)) : csv();
      return { identity: "nightly", csv: bytes, encoding };
    };
    const bulkSources: WorkerDeps["bulkSources"] = { ...deps.bulkSources, open };
    const source = "nightly/b.csv#0123456789ab";
    const file = { programId, bulkGrantId: "b", source, title: "b", starter };
    return pickUpSheet({ ...deps, bulkSources }, file, time);
  };
  return { deps, clock, pickUp };
}

const csv = "user_id,points\nu1,10\n";

test("a sheet belongs to the campaign of its column, and else to that of its file", async () => {
  const { deps, pickUp } = await openSource();
  expect(await pickUp(csv)).toEqual({ programId, bulkGrantId: "b", revision: 1 });
  const named = "points,bulk_grant_id,user_id\n10, 夏 2026 ,u1\n10,夏 2026,u2\n";
  expect(await pickUp(named)).toEqual({ programId, bulkGrantId: "夏 2026", revision: 1 });
  expect(await pickUp("user_id,points,bulk_grant_id\nu1,5,\n").catch(String)).toContain(
    "a bulk grant that is VALIDATING cannot be replaced",
  );
  const { bulkGrant } = await getBulkGrant(deps, { programId, bulkGrantId: "夏 2026" });
  const submitter = { service: "nightly" };
  expect(bulkGrant.revision).toMatchObject({ rowCount: 2, title: "b", submitter, starter });
  expect(bulkGrant.actions).toMatchObject([{ action: "SUBMIT", caller: submitter, starter }]);
});

test("the CSV files of a source have its encoding, and its workbooks none", async () => {
  const { deps, pickUp } = await openSource("windows-1252");
  const names = ["user_id", "points", "reason", "bulk_grant_id"];
  const latin = Buffer.from(`${names}\nu1,10,caf\xe9,caf\xe9\n`, "latin1");
  const book = workbookOf({ rows: inlineRows(names, ["u1", "10", "春", "春"]) });
  expect(await pickUp(() => bytesOf(latin))).toMatchObject({ bulkGrantId: "café" });
  expect(await pickUp(() => bytesOf(book))).toMatchObject({ bulkGrantId: "春" });
  for (const bulkGrantId of ["café", "春"]) {
    const { bulkGrant } = await getBulkGrant(deps, { programId, bulkGrantId });
    const [row] = await deps.reader.rowsOfBlock(bulkGrant.revision.uploadId, 0);
    expect(row?.reason).toBe(bulkGrantId);
  }
});

test("an id in another form of Unicode than NFC is refused", async () => {
  const { pickUp } = await openSource();
  const named = `points,bulk_grant_id,user_id\n10,${"が".normalize("NFD")},u1\n`;
  await expect(pickUp(named)).rejects.toMatchObject({ metadata: { field: "bulk_grant_id" } });
});

test("a sheet that cannot be read is refused under the name of its file", async () => {
  const { pickUp } = await openSource();
  await expect(pickUp("a,b\n1,2\n")).rejects.toMatchObject({
    metadata: { code: "HEADER_MISSING" },
  });
});

test("a file that is gone is no refusal", async () => {
  const { pickUp } = await openSource();
  const gone = new DomainError("INVALID_REQUEST", "no such file", { field: "source" });
  expect(await pickUp(gone)).toBeUndefined();
});

test("a file that has changed is no refusal, though its first line cannot be read", async () => {
  const { pickUp } = await openSource();
  async function* changed() {
    yield Buffer.from("a,b\n");
    yield Buffer.from("1,2\n");
    throw new DomainError("INVALID_REQUEST", "another version", { field: "source" });
  }
  expect(await pickUp(changed)).toBeUndefined();
});

test("the same sheet is taken again as long as it may be granted, and refused later", async () => {
  const { deps, clock, pickUp } = await openSource();
  await pickUp(csv);
  await validate(deps, "b", 1);
  expect(await pickUp(csv, clock.time + 1)).toEqual({ programId, bulkGrantId: "b", revision: 1 });
  clock.time += 1_000;
  await answerTo(deps, { op: "cancel", id: "b", by: "ann" });
  // Another pick-up that has begun before.
  expect(await pickUp(csv, clock.time - 1)).toEqual({ programId, bulkGrantId: "b", revision: 1 });
  await expect(pickUp(csv, clock.time + 1)).rejects.toMatchObject({
    reason: "WRONG_STATE",
    message: "b is CANCELLED with this sheet; retry it, or submit it with replaced_revision",
  });
});
