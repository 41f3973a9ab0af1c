/** Compares the page about Temporal Cloud with the code. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { searchAttributes } from "../../src/platform/contract/search-attributes.ts";
import { scheduleRequestsPerSecond } from "../../src/platform/temporal/connection.ts";
import { projectRoot } from "../support/markdown.ts";

const page = readFileSync(`${projectRoot}docs/run/temporal-cloud.md`, "utf8");

/** In a process of its own, because tests shorten the intervals. */
function tableOf(): string {
  const url = new URL("../../tools/capacity/actions.ts", import.meta.url).href;
  const code = `import { actionsTable } from ${JSON.stringify(url)}; console.log(actionsTable());`;
  const args = ["--input-type=module", "--eval", code];
  return execFileSync(process.execPath, args, { encoding: "utf8" }).trim();
}

test("the table of actions is that of the code", () => {
  const table = tableOf();
  expect(table).toContain("5,789");
  expect(page).toContain(table);
});

test("an administrator reads which search attributes to make", () => {
  const rows = page.match(/^ +\| `Meguri.*$/gm) ?? [];
  const names = rows.flatMap((row) => row.match(/Meguri\w+/g) ?? []);
  expect(names.sort()).toEqual(Object.values(searchAttributes).sort());
});

test("the pace of requests about schedules is that of the code", () => {
  expect(page).toContain(`with ${scheduleRequestsPerSecond} requests a second`);
  expect(page).toContain("A pass over 1,000 programs with notices takes seven minutes.");
  expect(Math.round((2 * 1_000) / scheduleRequestsPerSecond / 60)).toBe(7);
});
