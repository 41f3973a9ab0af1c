/**
 * The page docs/architecture.md: its table has every folder and the arrows that the linter holds;
 * in its walks every file exists, and none is visited twice.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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

describe("the table of folders", () => {
  const namesIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  const lines = [...document.matchAll(/^\| (`.+`) \| (.+) \| (.+) \|$/gm)].flatMap(
    ([, folders = "", , imports = ""]) => namesIn(folders).map((name) => [name, imports] as const),
  );
  const table = new Map(lines);

  test("has every folder, each once", () => {
    const top = ["activities", "bench", "examples", "packages/*", "src/*", "test", "tools"];
    const nested = ["src/{adapters,store}/*", "src/app/ports", "src/rpc/server", "workflows"];
    const paths = globSync([...top, ...nested, "src/adapters/sources/google"], {
      cwd: projectRoot,
    });
    const isSource = (path: string) =>
      path.includes("/") ? !/^src\/(adapters|store)$|\/sources\/.+\.ts$/.test(path) : true;
    expect([...table.keys()].sort()).toEqual(paths.filter(isSource).sort());
    expect(lines).toHaveLength(table.size);
  });

  test("has the arrows that the linter holds", () => {
    const held = arrowsOf(readFileSync(join(projectRoot, ".biome.json"), "utf8"));
    expect(held.size).toBeGreaterThan(15);
    const shown = [...table].filter(([, imports]) => imports.includes("`"));
    expect(new Map(shown.map(([name, text]) => [name, namesIn(text).sort()]))).toEqual(held);
  });
});

/** What the linter permits each folder to import, without its own files and Node's modules. */
function arrowsOf(config: string): Map<string, string[]> {
  const { overrides } = JSON.parse(config);
  const arrows = new Map<string, string[]>();
  for (const { includes, linter } of overrides) {
    const rule = linter?.rules?.style?.noRestrictedImports;
    if (!rule) continue;
    const globs: string[] = rule.options.patterns[0].group;
    const allowed = globs.flatMap((glob) => {
      const [, negated] = /^!(?!\.)(.+)$/.exec(glob) ?? [];
      const [, braced, rest = ""] = /^\{(.+)\}(.*)$/.exec(negated?.replace("**/", "") ?? "") ?? [];
      return braced?.split(",").map((name) => name + rest) ?? [negated?.replace("**/", "") ?? ""];
    });
    const names = allowed
      .map((name) => name.replace(/(\/\*+)+$/, ""))
      .filter((name) => name !== "" && !name.startsWith("node:"));
    const folder = includes[0].replace(/(\/src)?\/\*\*$/, "");
    arrows.set(folder, [...new Set(names)].sort());
  }
  return arrows;
}
