/** Tests that the linter, configured by .biome.json, finds what it is to find, and nothing else. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const wrong = {
  noRestrictedImports: [
    ["src/points/rpc/commands.ts", 'import { grant } from "../rules/account.ts";'],
    ["src/holds/rpc/service.ts", 'import { grant } from "../../points/rules/account.ts";'],
  ],
  noImportCycles: [["src/platform/words/ring.ts", 'import type { M } from "./month.ts";']],
  useFilenamingConvention: [
    ["src/points/rules/accountRing.ts", ""],
    ["src/points/rules/account_ring.ts", ""],
  ],
  noDefaultExport: [
    ["src/points/rules/one.ts", "export default 1;"],
    ["src/points/rules/one.ts", "const ring = 1;\nexport { ring as default };"],
  ],
} satisfies Record<string, readonly (readonly [string, string])[]>;

const right: [string, string][] = [
  ["src/points/rpc/commands.ts", 'import { kinds } from "../../feed/rules/kinds.ts";'],
  ["src/points/rpc/commands.ts", 'import type { Account } from "../rules/account.ts";'],
  ["src/points/use-cases/grant.ts", 'import { grant } from "../rules/account.ts";'],
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
  const month = [
    "src/platform/words/month.ts",
    'import type { R } from "./ring.ts";\nexport type M = R;',
  ];
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
