/** The decision records: each has a number of its own, which its title has, too. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const files = globSync("docs/decisions/[0-9]*.md", { cwd: projectRoot }).sort();
const numberOf = (file: string) => Number(basename(file).slice(0, 4));

test("are numbered from 1 on, without a gap", () => {
  expect(files.length).toBeGreaterThan(30);
  expect(files.map(numberOf)).toEqual(files.map((_, i) => i + 1));
});

test.each(files)("%s has its number in its title", (file) => {
  const [title = ""] = readFileSync(join(projectRoot, file), "utf8").split("\n");
  expect(title).toMatch(new RegExp(`^# ${numberOf(file)}\\. [A-Z].*[^.]$`));
});
