/** Checks the style that no linter checks; support/tidy.ts has the rules. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { longFiles } from "./support/longest-first.ts";
import { untested } from "./support/tests-of.ts";
import type { Sources } from "./support/tidy.ts";
import { badStyle, unusedExports } from "./support/tidy.ts";

const FOLDERS = [
  "src",
  "workflows",
  "activities",
  "packages",
  "tools",
  "test",
  "bench",
  "examples",
];

describe("this project", () => {
  const sources = readSources();

  test("has sources to check", () => {
    expect(sources.size).toBeGreaterThan(5);
    expect(sources.has("test/tidy.test.ts")).toBe(true);
  });

  test("has no export that no other file uses", () => {
    expect(unusedExports(withoutFixtures(sources))).toEqual([]);
  });

  test("has tests where a reader of a source file looks for them", () => {
    expect(untested([...sources.keys()])).toEqual([]);
  });

  test("has every test file that is started first", () => {
    expect(longFiles.filter((file) => !sources.has(file))).toEqual([]);
  });

  test("is written as the conventions say", () => {
    expect(badStyle(withoutFixtures(sources))).toEqual([]);
  });
});

const head = "/** A ring. */\n\n";

describe("style", () => {
  test.each([
    ["src/domain/ring.ts", `${head}// ${"x".repeat(98)}`],
    ["src/domain/ring.ts", "export const ring = 1;"],
    ["src/domain/ring.ts", "/** How long a ring is. */\nexport const length = 12;"],
    ["src/domain/ring.ts", head + "// x\n".repeat(349)],
  ])("%s: %s", (file, text) => {
    expect(badStyle(new Map([[file, text]]))).toHaveLength(1);
  });

  test("leaves generated code, config files and lines of exactly 100 columns alone", () => {
    const path = `../${"x".repeat(90)}.ts`;
    const sources = new Map([
      ["src/gen/points_service_pb.ts", `// ${"x".repeat(200)}`],
      ["test/vitest.config.ts", "export default {};"],
      ["src/domain/ring-of-months.ts", `${head}// ${"巡".repeat(97)}`],
      ["src/domain/ring.ts", `/** A ring. */\nimport type { Month } from "${path}";`],
      ["test/domain/ring.test.ts", head + "// x\n".repeat(400)],
    ]);
    expect(badStyle(sources)).toEqual([]);
  });
});

test.each([
  ["src/points/rules/account.ts", "test/points/rules/account.test.ts", []],
  ["src/platform/edge/grpc/methods.ts", "test/platform/edge/protocols.test.ts", []],
  ["workflows/reservations/reservation.ts", "test/reservations/temporal/reset.test.ts", []],
  ["src/gen/points_pb.ts", "test/points/rules/account.test.ts", []],
  ["src/points/rpc/commands.ts", "test/points/rules/account.test.ts", []],
  ["src/points/rpc/commands.ts", "test/holds/rpc/holds.test.ts", ["src/points/rpc/commands.ts"]],
  ["src/points/rules/account.ts", "test/soak/points.soak.ts", ["src/points/rules/account.ts"]],
])("of %s and %s, these have no test: %j", (source, testFile, expected) => {
  expect(untested([source, testFile])).toEqual(expected);
});

test("an export that other files name only in comments is unused", () => {
  const sources = new Map([
    ["src/domain/a.ts", "export const used = 1;\nexport const unused = used;"],
    ["test/domain/a.test.ts", "// unused\nexpect(used).toBe(1);"],
  ]);
  expect(unusedExports(sources)).toEqual(["src/domain/a.ts: no other file uses unused"]);
});

function readSources(): Sources {
  const files = globSync(FOLDERS.map((folder) => `${folder}/**/*.ts`));
  return new Map(files.sort().map((file) => [file, readFileSync(file, "utf8")]));
}

/** All sources but this file, which has bad imports in its strings. */
function withoutFixtures(sources: Sources): Sources {
  return new Map([...sources].filter(([file]) => file !== "test/tidy.test.ts"));
}
