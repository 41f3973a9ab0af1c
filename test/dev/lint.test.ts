/** Tests that the linter, configured by .biome.json, holds the arrows, and has no false alarm. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const wrong = {
  noRestrictedImports: [
    ["src/domain/account.ts", 'import { x } from "../app/points/grant.ts";'],
    ["src/domain/account.ts", 'import type { X } from "../app/points/grant.ts";'],
    ["src/domain/account.ts", 'import type { Grant } from "../gen/grant_pb.ts";'],
    ["src/domain/account.ts", 'import { createHash } from "node:crypto";'],
    ["src/domain/account.ts", 'export * from "../contract/points.ts";'],
    ["src/domain/account.ts", 'import { z } from "zod";'],
    ["src/contract/points.ts", 'import { use } from "../app/points/use.ts";'],
    ["src/app/points/grant.ts", 'import { store } from "../../store/accounts.ts";'],
    ["src/app/points/grant.ts", 'import { config } from "../../config/config.ts";'],
    ["src/app/points/grant.ts", 'import { log } from "../../log.ts";'],
    ["src/app/points/grant.ts", 'import { DynamoDB } from "@aws-sdk/client-dynamodb";'],
    ["src/app/points/grant.ts", 'const x = await import("../../temporal/start.ts");'],
    ["src/app/ports/engine.ts", 'import type { Grant } from "../points/grant.ts";'],
    ["src/store/engine/batch.ts", 'import { table } from "../dynamodb/tables.ts";'],
    [
      "src/store/dynamodb/codecs/points.ts",
      'import { grant } from "../../../app/points/grant.ts";',
    ],
    ["src/store/dynamodb/tables.ts", 'import { log } from "../../log.ts";'],
    ["src/temporal/start.ts", 'import { grant } from "../app/points/grant.ts";'],
    ["src/temporal/start.ts", 'import { Worker } from "@temporalio/worker";'],
    ["src/runtime/streams/stream.ts", 'import { store } from "../../store/accounts.ts";'],
    ["src/adapters/sources/folder.ts", 'import { drive } from "./google/drive.ts";'],
    ["src/adapters/slack/reporter.ts", 'import { s3 } from "../sources/s3.ts";'],
    ["src/auth/jwt.ts", 'import { grant } from "../app/points/grant.ts";'],
    ["src/rpc/points/commands.ts", 'import { grant } from "../../domain/account.ts";'],
    ["src/rpc/points/commands.ts", 'import { store } from "../../store/accounts.ts";'],
    ["src/rpc/points/commands.ts", 'import { Client } from "@temporalio/client";'],
    ["src/rpc/server/errors.ts", 'import { commands } from "../points/commands.ts";'],
    ["src/rpc/server/errors.ts", 'import { grant } from "../../app/points/grant.ts";'],
    ["src/rpc/server/errors.ts", 'import { G } from "../../gen/meguri/points/v1/grant_pb.ts";'],
    ["packages/client/src/call.ts", 'import { grant } from "../../../src/app/points/grant.ts";'],
    ["packages/cli/src/points.ts", 'import { reasons } from "../../../src/domain/errors.ts";'],
    ["workflows/reservation.ts", 'import type { Deps } from "../src/app/ports/deps.ts";'],
    ["workflows/reservation.ts", 'import { Client } from "@temporalio/client";'],
    ["workflows/reservation.ts", 'import { createHash } from "node:crypto";'],
    ["activities/grant.ts", 'import { store } from "../src/store/accounts.ts";'],
    ["activities/grant.ts", 'import {\n  a,\n  b,\n} from "../src/temporal/start.ts";'],
  ],
  noImportCycles: [["src/domain/ring.ts", 'import type { M } from "./month.ts";']],
  useFilenamingConvention: [
    ["src/domain/accountRing.ts", ""],
    ["src/domain/account_ring.ts", ""],
  ],
  noDefaultExport: [
    ["src/domain/one.ts", "export default 1;"],
    ["src/domain/one.ts", "const ring = 1;\nexport { ring as default };"],
  ],
} satisfies Record<string, readonly (readonly [string, string])[]>;

const right: [string, string][] = [
  ["src/domain/account.ts", 'import { x } from "./points.ts";\nexport * from "./buckets.ts";'],
  ["src/domain/account.ts", 'import { Temporal } from "temporal-polyfill";'],
  ["src/domain/account.ts", '/** Not code:\nimport { x } from "../app/grant.ts";\n */'],
  ["src/contract/points.ts", 'import type { Points } from "../domain/points.ts";'],
  ["src/app/points/grant.ts", 'import { grant } from "../../domain/account.ts";'],
  ["src/app/points/grant.ts", 'import { hash } from "../shared/idempotency.ts";'],
  [
    "src/store/dynamodb/codecs/points.ts",
    'import type { A } from "../../../app/ports/records.ts";',
  ],
  ["src/store/dynamodb/codecs/points.ts", 'import { attributes } from "../sdk/attributes.ts";'],
  ["src/temporal/start.ts", 'import { Client } from "@temporalio/client";'],
  ["src/rpc/points/commands.ts", 'import { Refusal } from "../../domain/errors.ts";'],
  ["src/rpc/points/commands.ts", 'import type { Account } from "../../domain/account.ts";'],
  ["src/rpc/server/errors.ts", 'import { A } from "../../gen/meguri/access/v1/access_pb.ts";'],
  ["src/rpc/server/grpc/respond.ts", 'import { codes } from "../errors.ts";'],
  ["workflows/reservation.ts", 'import type * as a from "../activities/grant.ts";'],
  ["activities/grant.ts", 'import { grant } from "../src/app/points/grant.ts";'],
  ["src/server.ts", 'import { config } from "./config/config.ts";'],
  ["test/store.test.ts", 'import { store } from "../src/store/accounts.ts";'],
  ["test/vitest.config.ts", "export default {};"],
];

let root: string;
/** The rules that each file breaks, by its path. */
let broken: Map<string, Set<string>>;

/** The path of the text, which other texts do not have. */
const pathOf = (path: string, i: number) =>
  path.endsWith("/ring.ts") ? path : path.replace(/(\.config)?\.ts$/, `-${i}$1.ts`);

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "meguri-lint-"));
  copyFileSync(join(projectRoot, ".biome.json"), join(root, ".biome.json"));
  const month = ["src/domain/month.ts", 'import type { R } from "./ring.ts";\nexport type M = R;'];
  const all = [...Object.values(wrong).flat(), ...right].map(([path, text], i) => [
    pathOf(path, i),
    text,
  ]);
  for (const [path = "", text = ""] of [...all, month]) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
  const biome = join(projectRoot, "node_modules", ".bin", "biome");
  const args = ["lint", "--vcs-enabled=false", "--reporter=github", "--max-diagnostics=none"];
  const { stdout } = spawnSync(biome, args, { cwd: root, encoding: "utf8" });
  broken = new Map();
  for (const [, rule = "", file = ""] of stdout.matchAll(/title=lint\/\w+\/(\w+),file=([^,]+)/g)) {
    const path = relative(root, file);
    broken.set(path, (broken.get(path) ?? new Set()).add(rule));
  }
});
afterAll(() => rmSync(root, { recursive: true }));

describe.each(Object.entries(wrong))("%s finds", (rule, texts) => {
  const before = Object.values(wrong).slice(0, Object.keys(wrong).indexOf(rule)).flat().length;
  test.each(texts.map(([path, text], i) => [path, text, pathOf(path, before + i)]))(
    "%s: %s",
    (_path, _text, file) => {
      expect([...(broken.get(file) ?? [])]).toContain(rule);
    },
  );
});

describe("none of these rules finds", () => {
  const before = Object.values(wrong).flat().length;
  test.each(right.map(([path, text], i) => [path, text, pathOf(path, before + i)]))(
    "%s: %s",
    (_path, _text, file) => {
      const rules = [...(broken.get(file) ?? [])].filter((rule) => rule in wrong);
      expect(rules).toEqual([]);
    },
  );
});
