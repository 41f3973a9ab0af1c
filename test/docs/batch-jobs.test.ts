/** Compares the code of docs/call/batch-jobs.md with the project; bare-clone.check.ts runs it. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSourceDefinitions } from "../../src/bulk-grants/sources/definitions.ts";
import { codeNamed, projectRoot } from "../support/markdown.ts";

const page = "docs/call/batch-jobs.md";

test("the page shows the code of the example", () => {
  const file = readFileSync(`${projectRoot}examples/upload-sheet.ts`, "utf8");
  expect(codeNamed(page, "upload")).toBe(file);
});

test("the sources of the page can be read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "meguri-batch-jobs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const sources = join(folder, "sources.json");
  await writeFile(sources, codeNamed(page, "sources"));
  expect(readSourceDefinitions(sources)).toMatchObject([{ name: "nightly" }]);
});
