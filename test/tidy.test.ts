/** Checks the import arrows and the style that no linter checks; support/tidy.ts has the rules. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { untested } from "./support/tests-of.ts";
import type { Sources } from "./support/tidy.ts";
import {
  badStyle,
  importCircles,
  reachedFromWorkflows,
  unusedExports,
  wrongArrows,
} from "./support/tidy.ts";

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

  test("imports along the arrows", () => {
    expect(wrongArrows(withoutFixtures(sources))).toEqual([]);
  });

  test("has no import circle", () => {
    expect(importCircles(withoutFixtures(sources))).toEqual([]);
  });

  test("has no export that no other file uses", () => {
    expect(unusedExports(withoutFixtures(sources))).toEqual([]);
  });

  test("keeps builtins and SDKs out of workflows", () => {
    expect(reachedFromWorkflows(sources)).toEqual([]);
  });

  test("has tests where a reader of a source file looks for them", () => {
    expect(untested([...sources.keys()])).toEqual([]);
  });

  test("is written as the conventions say", () => {
    expect(badStyle(withoutFixtures(sources))).toEqual([]);
  });
});

describe("wrong arrows", () => {
  test.each([
    ["src/domain/account.ts", 'import { x } from "../app/grant.ts";'],
    ["src/domain/account.ts", 'import type { X } from "../app/grant.ts";'],
    ["src/domain/account.ts", 'import type { Grant } from "../gen/grant_pb.ts";'],
    ["src/domain/account.ts", 'import { createHash } from "node:crypto";'],
    ["src/domain/account.ts", 'import { createHash } from "crypto";'],
    ["src/domain/account.ts", 'export * from "../contract/points.ts";'],
    ["src/domain/account.ts", 'import { z } from "zod";'],
    ["src/contract/points.ts", 'import { grant } from "../domain/account.ts";'],
    ["src/app/grant.ts", 'import { store } from "../store/accounts.ts";'],
    ["src/app/grant.ts", 'import { config } from "../config/config.ts";'],
    ["src/app/grant.ts", 'import { DynamoDB } from "@aws-sdk/client-dynamodb";'],
    ["src/app/grant.ts", 'const x = await import("../temporal/start.ts");'],
    ["src/app/grant.ts", "const x = await import(`../x.ts`);"],
    ["src/store/accounts.ts", 'import { grant } from "../app/grant.ts";'],
    ["src/store/accounts.ts", 'import { log } from "../log.ts";'],
    ["src/temporal/start.ts", 'import { grant } from "../app/grant.ts";'],
    ["src/temporal/start.ts", 'import { Worker } from "@temporalio/worker";'],
    ["src/rpc/grant.ts", 'import { grant } from "../domain/account.ts";'],
    ["src/rpc/grant.ts", 'import { store } from "../store/accounts.ts";'],
    ["src/rpc/grant.ts", 'import { Client } from "@temporalio/client";'],
    ["src/gen/grant_pb.ts", 'import { x } from "../domain/account.ts";'],
    ["workflows/reservation.ts", 'import { grant } from "../activities/grant.ts";'],
    ["workflows/reservation.ts", 'import type { Deps } from "../src/app/grant.ts";'],
    ["workflows/reservation.ts", 'import { Client } from "@temporalio/client";'],
    ["activities/grant.ts", 'import { store } from "../src/store/accounts.ts";'],
    ["activities/grant.ts", 'import {\n  a,\n  b,\n} from "../src/temporal/start.ts";'],
    ["packages/client/src/call.ts", 'import { grant } from "../../../src/app/grant.ts";'],
    ["packages/client/src/call.ts", 'import { run } from "../../cli/src/run.ts";'],
    ["packages/client/src/call.ts", 'import { run } from "@meguri/cli";'],
    ["packages/cli/src/points.ts", 'import { call } from "../../client/src/call.ts";'],
    ["packages/cli/src/points.ts", 'import { x } from "../../../src/gen/grant_pb.ts";'],
    ["packages/cli/src/points.ts", 'import { x } from "@connectrpc/connect-node";'],
    ["src/helpers/x.ts", ""],
  ])("%s: %s", (file, text) => {
    expect(wrongArrows(new Map([[file, text]]))).toHaveLength(1);
  });
});

describe("right arrows", () => {
  test.each([
    ["src/domain/account.ts", 'import { x } from "./points.ts";\nexport * from "./ring.ts";'],
    ["src/domain/account.ts", 'import { Temporal } from "temporal-polyfill";'],
    ["src/domain/account.ts", '/** Not code:\nimport { x } from "../app/grant.ts";\n */'],
    ["src/domain/account.ts", "export const from = 1;\nexport function importer() {}"],
    ["src/contract/points.ts", 'import type { Points } from "../domain/points.ts";'],
    ["src/app/grant.ts", 'import { grant } from "../domain/account.ts";'],
    ["src/store/accounts.ts", 'import type { Accounts } from "../app/ports/records.ts";'],
    ["src/temporal/start.ts", 'import { Client } from "@temporalio/client";'],
    ["src/rpc/grant.ts", 'import { Refusal } from "../domain/errors.ts";'],
    ["src/rpc/grant.ts", 'import type { Account } from "../domain/account.ts";'],
    ["workflows/reservation.ts", 'import type * as a from "../activities/grant.ts";'],
    ["activities/grant.ts", 'import { grant } from "../src/app/grant.ts";'],
    ["packages/client/src/call.ts", 'import { x } from "../../../src/gen/grant_pb.ts";'],
    ["packages/cli/src/points.ts", 'import { Balance } from "@meguri/client/points";'],
    ["src/server.ts", 'import { config } from "./config/config.ts";'],
    ["test/store.test.ts", 'import { store } from "../src/store/accounts.ts";'],
  ])("%s: %s", (file, text) => {
    expect(wrongArrows(new Map([[file, text]]))).toEqual([]);
  });
});

describe("reached from workflows", () => {
  const workflowFile = "workflows/reservation.ts";

  test("a builtin behind the domain", () => {
    const sources = new Map([
      [workflowFile, 'import { hash } from "../src/domain/hash.ts";'],
      ["src/domain/hash.ts", 'export { hash } from "./sha.ts";'],
      ["src/domain/sha.ts", 'import { createHash } from "node:crypto";'],
    ]);
    const way = [workflowFile, "src/domain/hash.ts", "src/domain/sha.ts", "node:crypto"];
    expect(reachedFromWorkflows(sources)).toEqual([way.join(" → ")]);
  });

  test("an SDK, plainly, by its side effect, computed or by an inline type", () => {
    for (const text of [
      'import { DynamoDB } from "@aws-sdk/client-dynamodb";',
      'import "@aws-sdk/client-dynamodb";',
      "await import(name);",
      'import { type DynamoDB } from "@aws-sdk/client-dynamodb";',
    ]) {
      expect(reachedFromWorkflows(new Map([[workflowFile, text]]))).toHaveLength(1);
    }
  });

  test("not through a type, and not the packages that workflows are made of", () => {
    const sources = new Map([
      [
        workflowFile,
        'import type * as activities from "../activities/grant.ts";\n' +
          'import { sleep } from "@temporalio/workflow";\n' +
          'import { month } from "../src/domain/month.ts";',
      ],
      ["activities/grant.ts", 'import { createHash } from "node:crypto";'],
      ["src/domain/month.ts", 'import { Temporal } from "temporal-polyfill";'],
    ]);
    expect(reachedFromWorkflows(sources)).toEqual([]);
  });
});

const head = "/** A ring. */\n\n";

describe("style", () => {
  test.each([
    ["src/domain/accountRing.ts", head],
    ["src/domain/account_ring.ts", head],
    ["src/Domain/ring.ts", head],
    ["src/domain/ring.ts", `${head}export default 1;`],
    ["src/domain/ring.ts", `${head}export { ring as default };`],
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
  ["src/domain/account.ts", "test/domain/account.test.ts", []],
  ["src/rpc/server/grpc/methods.ts", "test/rpc/server/protocols.test.ts", []],
  ["workflows/reservation.ts", "test/temporal/reset.test.ts", []],
  ["src/gen/points_pb.ts", "test/domain/account.test.ts", []],
  ["src/rpc/points/commands.ts", "test/domain/account.test.ts", ["src/rpc/points/commands.ts"]],
  ["src/domain/account.ts", "test/soak/points.soak.ts", ["src/domain/account.ts"]],
])("of %s and %s, these have no test: %j", (source, testFile, expected) => {
  expect(untested([source, testFile])).toEqual(expected);
});

test("an import circle, types included, is reported with all its files", () => {
  const sources = new Map([
    ["src/domain/a.ts", 'import { b } from "./b.ts";'],
    ["src/domain/b.ts", 'import type { C } from "./c.ts";'],
    ["src/domain/c.ts", 'export { b } from "./b.ts";'],
  ]);
  expect(importCircles(sources)).toEqual(["src/domain/b.ts → src/domain/c.ts → src/domain/b.ts"]);
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
