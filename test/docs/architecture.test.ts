/** The walks in docs/architecture.md: every file exists, and none is visited twice in a walk. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const document = readFileSync(join(projectRoot, "docs/architecture.md"), "utf8");

const walks = document
  .split(/^### /m)
  .slice(1)
  .map((section): [string, string[]] => {
    const [title = ""] = section.split("\n");
    const files = [...section.matchAll(/^\d+\. `([^`]+)`:/gm)].map(([, file = ""]) => file);
    return [title, files];
  });

test("there are four walks", () => {
  expect(walks.map(([title]) => title)).toEqual([
    "GrantPoints, from the handler to the store",
    "The execute time of a reservation",
    "A row of a sheet",
    "A like",
  ]);
});

test.each(walks)("%s", (_, files) => {
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !existsSync(join(projectRoot, file)))).toEqual([]);
  expect(files.filter((file, i) => files.indexOf(file) < i)).toEqual([]);
});
