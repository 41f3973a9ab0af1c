/** Tests that the hash of a benchmark's code changes with what it measures, and only with that. */
import { expect, test } from "vitest";
import { codeHasher } from "../../bench/report/code.ts";

const files: Readonly<Record<string, string>> = {
  "package.json": '{ "dependencies": { "lru": "1.0.0", "other": "1.0.0" } }',
  "bench/cases/a.ts": [
    'import { b } from "../support/b.ts";',
    'import type { T } from "../types.ts";',
    'import { Lru } from "lru/sub";',
    'import { client } from "@meguri/client/points";',
    "/** A. */",
    'start("src/server.ts");',
  ].join("\n"),
  "bench/support/b.ts": "export const b = `${" + "import.meta.dirname}/../baselines/c.ts`;",
  "bench/baselines/c.ts": "export const c = 1;",
  "bench/types.ts": "export type T = 1;",
  "packages/client/package.json": '{ "exports": { "./points": "./src/points.ts" } }',
  "packages/client/src/points.ts": "export const client = 1;",
  "src/server.ts": 'export * from "./app/call.ts";',
  "src/app/call.ts": 'const tables = "../../deploy/tables.yaml";',
  "src/app/other.ts": "export const other = 1;",
  "deploy/tables.yaml": "tables: 1",
};

const hashWith = (changed: Readonly<Record<string, string>>) => {
  const all = { ...files, ...changed };
  return codeHasher((path) => all[path])("bench/cases/a.ts");
};

test.each([
  "bench/support/b.ts",
  "bench/baselines/c.ts",
  "packages/client/src/points.ts",
  "src/server.ts",
  "src/app/call.ts",
  "deploy/tables.yaml",
])("a change of %s, which is imported, started or read, makes another hash", (path) => {
  expect(hashWith({ [path]: `${files[path]}\nmore` })).not.toBe(hashWith({}));
});

test("another version of an imported package makes another hash", () => {
  const versions = '{ "dependencies": { "lru": "1.0.1", "other": "1.0.0" } }';
  expect(hashWith({ "package.json": versions })).not.toBe(hashWith({}));
});

test.each([
  ["a file that is not needed", { "src/app/other.ts": "export const other = 2;" }],
  ["a file of which only types are needed", { "bench/types.ts": "export type T = 2;" }],
  ["comments", { "src/server.ts": `/** The server. */\n\n// One.\n${files["src/server.ts"]}` }],
  ["another package", { "package.json": '{ "dependencies": { "lru": "1.0.0" } }' }],
])("%s does not change the hash", (_, changed) => {
  expect(hashWith(changed as Record<string, string>)).toBe(hashWith({}));
});
