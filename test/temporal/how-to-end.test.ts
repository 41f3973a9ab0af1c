/** Tests that every run that this project starts says what ends it, without a worker. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bulkGrantHowToEnd } from "../../src/bulk-grants/contract/bulk-grants.ts";
import { pickUpHowToEnd, waitHowToEnd } from "../../src/bulk-grants/contract/sheet-sources.ts";
import { purgeHowToEnd } from "../../src/feed/contract/purges.ts";
import { endsRunOfSchedule, endsWithRecord } from "../../src/platform/contract/how-to-end.ts";
import { jobHowToEnd } from "../../src/points/contract/jobs.ts";
import { fullReconcileHowToEnd } from "../../src/reservations/contract/reconciler.ts";
import { reservationHowToEnd } from "../../src/reservations/contract/reservations.ts";
import { projectRoot } from "../support/markdown.ts";

test.each([
  ...[bulkGrantHowToEnd, fullReconcileHowToEnd, jobHowToEnd, pickUpHowToEnd, purgeHowToEnd],
  ...[reservationHowToEnd, waitHowToEnd, endsWithRecord("cancels it"), endsRunOfSchedule()],
])("%s", (details) => {
  expect(details).toMatch(/^\*\*Request Cancellation\*\*.*\*\*Terminate\*\*.*\*\*Reset\*\*/);
});

test("a reset pick-up may report its files again", () => {
  expect(pickUpHowToEnd).toContain("**Reset** repeats its steps, which submits no file twice, but");
  expect(pickUpHowToEnd).not.toContain("changes nothing");
});

const textOf = (file: string) => readFileSync(projectRoot + file, "utf8");

const starts = globSync("src/**/temporal/**/*.ts", { cwd: projectRoot }).flatMap((file) => {
  const found = textOf(file).matchAll(/^( +)staticSummary: .*?(?=^\1[a-z/])\1(.{50})/gms);
  return [...found].map(([, , next = ""]) => [file, next] as const);
});

test("there are starts of all types of workflows, but of those that operators start", () => {
  expect(starts.length).toBe(10);
});

test.each(starts)("%s: the details of a run begin with it", (_, next) => {
  expect(next).toMatch(/^staticDetails:\s+`?(\$\{)?(\w+HowToEnd|endsWithRecord|endsRunOfSchedule)/);
});

test("a workflow sets its current details with it, but for a hold, which never continues", () => {
  const files = globSync("workflows/*/*.ts", { cwd: projectRoot });
  const without = files.filter((file) => textOf(file).includes("setCurrentDetails"));
  expect(without).toEqual(["workflows/holds/hold.ts"]);
  expect(textOf("workflows/holds/hold.ts")).not.toContain("continueAsNew");
});
