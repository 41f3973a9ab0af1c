/** Tests that every run that this project starts says what ends it, without a worker. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  endsRunOfSchedule,
  endsRunOnly,
  endsWithRecord,
} from "../../src/platform/temporal/how-to-end.ts";
import { projectRoot } from "../support/markdown.ts";

test.each([endsWithRecord("cancels it"), endsRunOnly("the rest is done later"), endsRunOfSchedule])(
  "%s",
  (details) => {
    expect(details).toMatch(/^\*\*Request Cancellation\*\*.*\*\*Terminate\*\*.*\*\*Reset\*\*/);
  },
);

const files = globSync("src/**/temporal/**/*.ts", { cwd: projectRoot });
const starts = files.flatMap((file) => {
  const text = readFileSync(projectRoot + file, "utf8");
  const found = text.matchAll(/^( +)staticSummary: .*?(?=^\1[a-z/])\1(.{60})/gms);
  return [...found].map(([, , next = ""]) => [file, next] as const);
});

test("there are starts of all types of workflows, but of those that operators start", () => {
  expect(starts.length).toBe(10);
});

test.each(starts)("%s: the details of a run begin with it", (_, next) => {
  expect(next).toMatch(/^staticDetails:\s+`?(\$\{)?(endsWithRecord|endsRun(Only|OfSchedule))/);
});
