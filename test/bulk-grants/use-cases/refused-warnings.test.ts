/** Tests that the rows of a sheet with a refused warning are written to its source. */
import { expect, test } from "vitest";
import type { SheetCells } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import { writeFailuresToSource } from "../../../src/bulk-grants/use-cases/advance.ts";
import { readBulkGrant } from "../../../src/bulk-grants/use-cases/bulk-grant-record.ts";
import { submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { openStore, validate } from "../../support/fixtures/bulk-steps.ts";
import { bytesOf } from "../../support/fixtures/sheets.ts";
import { programId } from "../../support/models/bulk-use-cases.ts";

test("a revision that its warning makes INVALID names the rows in the tab of errors", async () => {
  const { deps } = await openStore();
  await enforceRules(deps, programId, { sources: ["drive"], refusedWarnings: ["IDS_CHANGED"] });
  const cells: SheetCells[] = [];
  const bulkSources: WorkerDeps["bulkSources"] = {
    ...deps.bulkSources,
    async writeErrors(_, { rows }) {
      for await (const row of rows) cells.push(row);
      return { name: "tab" };
    },
  };
  const name = { programId, bulkGrantId: "b" };
  const csv = bytesOf(Buffer.from("user_id,points\nu1,1\nTRUE,2\n"));
  const source = { source: "drive/b", submitter: asService("drive"), executeTime: undefined };
  await submitBulkGrant(deps, { ...name, ...source }, { csv, sender: "drive" });
  await validate(deps, "b", 1);
  expect(await readBulkGrant(deps, name)).toMatchObject({
    state: "INVALID",
    checked: { invalidCount: 0 },
    refusedWarnings: [{ code: "IDS_CHANGED", rowCount: 1, lines: [3], detail: "TRUE" }],
  });
  await writeFailuresToSource({ ...deps, bulkSources }, name);
  expect(cells.map((row) => [row[0], row.at(-2)])).toEqual([
    ["user_id", "error_code"],
    ["u1", "NOT_RUN"],
    ["TRUE", "NOT_RUN, IDS_CHANGED"],
  ]);
});
