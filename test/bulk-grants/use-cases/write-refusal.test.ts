/** Tests what is written to its source about a sheet that was refused. */
import { expect, test } from "vitest";
import { writeRefusal } from "../../../src/bulk-grants/use-cases/write-refusal.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { openStore } from "../../support/fixtures/bulk-steps.ts";
import { bytesOf } from "../../support/fixtures/sheets.ts";
import { programId } from "../../support/models/bulk-use-cases.ts";

/** Writes about a sheet that was refused; returns the title and the rows below the header. */
async function written(csv: string | DomainError, reason = "INVALID_REQUEST") {
  const { deps } = await openStore();
  let errors: unknown;
  const bulkSources: WorkerDeps["bulkSources"] = {
    ...deps.bulkSources,
    async open() {
      if (csv instanceof DomainError) throw csv;
      return { identity: "nightly", csv: bytesOf(Buffer.from(csv)) };
    },
    async writeErrors({ source }, { title, rows }) {
      const all: unknown[] = [];
      for await (const row of rows) all.push(row);
      errors = { title, rows: all.slice(1) };
      return { name: `errors of ${source}` };
    },
  };
  const sheet = { programId, bulkGrantId: "b", source: "nightly/b.csv", reason, message: "why" };
  const place = await writeRefusal({ ...deps, bulkSources }, sheet);
  expect(place).toEqual({ name: "errors of nightly/b.csv" });
  return errors;
}

test("all problems of a sheet that cannot be read", async () => {
  const sheet = "user_id,points,bulk_grant_id,colour\nu1,x,summer,1\nu2,1,winter,1\n";
  expect(await written(sheet)).toEqual({
    title: "failed b",
    rows: [
      [1, "", "COLUMN_UNKNOWN", expect.stringContaining("colour")],
      [2, "u1", "POINTS_MALFORMED", expect.any(String)],
      [3, "u2", "OTHER_BULK_GRANT", expect.any(String)],
    ],
  });
});

test("the warnings of such a sheet, with the first line of each", async () => {
  const sheet = "user_id,points,colour\nu1,1,1\nTRUE,1,1\n";
  expect(await written(sheet)).toEqual({
    title: "failed b",
    rows: [
      [1, "", "COLUMN_UNKNOWN", expect.stringContaining("colour")],
      [
        3,
        "",
        "IDS_CHANGED",
        "warning: IDS_CHANGED: 1 user id looks changed by a spreadsheet program, such as TRUE; " +
          "line 3",
      ],
    ],
  });
});

test("the reason, when the sheet is right or cannot be opened", async () => {
  const why = (reason: string) => ({ title: "failed b", rows: [["", "", reason, "why"]] });
  const csv = "user_id,points\nu1,1\n";
  expect(await written(csv)).toEqual(why("INVALID_REQUEST"));
  expect(await written("user_id,points\nu1,x\n", "WRONG_STATE")).toEqual(why("WRONG_STATE"));
  const gone = new DomainError("INVALID_REQUEST", "no such file", { field: "source" });
  expect(await written(gone)).toEqual(why("INVALID_REQUEST"));
});
