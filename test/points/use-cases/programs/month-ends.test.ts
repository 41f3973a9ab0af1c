/** Tests which month ends are missing, of which programs. */
import { expect, test } from "vitest";
import { monthAt, monthStart } from "../../../../src/platform/words/month.ts";
import { programRef } from "../../../../src/points/ports/records.ts";
import { createProgram } from "../../../../src/points/use-cases/programs/commands.ts";
import {
  readMonthEnds,
  recordMonthEnd,
} from "../../../../src/points/use-cases/programs/month-ends.ts";
import { readAllPrograms } from "../../../../src/points/use-cases/programs/queries.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

test("programs are read one by one: a time zone that is unknown here hides no other", async () => {
  const { deps, store } = memoryDeps();
  for (const programId of ["cafe", "shop"])
    await createProgram(deps, { programId, timeZone: "UTC", lifetimeMonths: 3 });
  const { calendar } = await deps.clock.now();
  const nowhere = { programId: "nowhere", timeZone: "Moon/Base", lifetimes: [], createTime: 0 };
  store.force(programRef("nowhere"), nowhere);
  const month = monthAt("UTC", calendar);
  const monthEnd = { month: month + 1, failedCount: 3 };
  await recordMonthEnd(deps, "shop", monthEnd);
  const failed: string[] = [];
  const later = { now: async () => ({ calendar: monthStart("UTC", month + 2), wall: calendar }) };
  const programs = await readAllPrograms(deps);
  const census = await readMonthEnds({ clock: later }, programs, (id) => void failed.push(id));
  expect(failed).toEqual(["nowhere"]);
  expect(census.behind).toEqual(
    new Map([
      ["cafe", 2],
      ["shop", 0],
    ]),
  );
  const failedAccounts = new Map([
    ["cafe", 0],
    ["nowhere", 0],
    ["shop", 3],
  ]);
  expect(census.failedAccounts).toEqual(failedAccounts);
  await expect(recordMonthEnd(deps, "none", monthEnd)).rejects.toMatchObject({
    reason: "PROGRAM_NOT_FOUND",
  });
});
