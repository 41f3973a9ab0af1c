/** Tests that version managers (.node-version) and npm scripts (`node`) use the same Node. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };

test(".node-version is the version of the devDependency node", () => {
  const file = new URL("../../.node-version", import.meta.url);
  expect(readFileSync(file, "utf8")).toBe(`${manifest.devDependencies.node}\n`);
});
