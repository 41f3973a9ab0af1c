/**
 * The page docs/change/architecture.md: its table has every folder, and the imports are those that
 * it permits; in its walks every file exists, and none is visited twice.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, matchesGlob, posix } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const document = readFileSync(join(projectRoot, "docs/change/architecture.md"), "utf8");

const walks = document
  .split(/^### /m)
  .slice(1)
  .map((section): [string, string[]] => {
    const [title = ""] = section.split("\n");
    const files = [...section.matchAll(/^\d+\. `([^`]+)`:/gm)].map(([, file = ""]) => file);
    return [title, files];
  });

test("there are four walks of so many files", () => {
  expect(walks.map(([title, files]) => [title, files.length])).toEqual([
    ["GrantPoints, from the handler to the store", 16],
    ["The execute time of a reservation", 22],
    ["A row of a sheet", 18],
    ["A like", 9],
  ]);
});

test.each(walks)("%s", (_, files) => {
  expect(files.filter((file) => !existsSync(join(projectRoot, file)))).toEqual([]);
  expect(files.filter((file, i) => files.indexOf(file) < i)).toEqual([]);
});

/** The features in the order in which they may import each other, as the page lists them. */
const features = [
  ...["acts", "points", "due", "holds", "feed", "reservations", "bulk-grants"],
  "events",
];

const namesIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

/** The rows of a table with this head: the names in the first and in the last column. */
function rowsOf(head: string): { readonly names: string[]; readonly last: string }[] {
  const [, table = ""] = document.split(`| ${head} |\n`);
  const [rows = ""] = table.split("\n\n");
  return [...rows.matchAll(/^\| (`.+?) \|(?:.* \|)? (.+) \|$/gm)].map(
    ([, names = "", last = ""]) => ({ names: namesIn(names), last }),
  );
}

/** What each folder may import; the folders of a feature stand for those of all features. */
const permitted = new Map(
  rowsOf("folder | holds | may import").flatMap(({ names, last }) =>
    names.map((name) => [name, last] as const),
  ),
);

/** The folder of the table that a file is in: the one with the longest path. */
const folderOf = (file: string): string =>
  [...permitted.keys()]
    .filter((folder) => matchesGlob(file, folder) || matchesGlob(file, `${folder}/**`))
    .sort((one, other) => other.length - one.length)[0] ?? file;

const featureOf = (file: string): number => features.indexOf(/^src\/([^/]+)/.exec(file)?.[1] ?? "");

/** A folder as the table names it in its last column. */
const shortName = (folder: string): string =>
  folder.replace("src/*/", "").replace(/^src\/(?=platform|gen|hub)/, "");

/** The same with its feature. */
const fullName = (file: string): string =>
  folderOf(file).replace("*", features[featureOf(file)] ?? "*");

/** The modules that a file imports: a path, or the name of a package. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(projectRoot, file), "utf8");
  const form = /^(?:import|export)\b[^;"]*?\bfrom "([^"]+)"|\bimport\("([^"]+)"\)/gm;
  return [...text.matchAll(form)].map(([, fixed, dynamic]) => fixed ?? dynamic ?? "");
}

const files = globSync(["{src,workflows,activities,packages/*/src}/**/*.ts"], {
  cwd: projectRoot,
}).filter((file) => !file.startsWith("src/gen/"));

const arrows = files.flatMap((from) =>
  importsOf(from).map((name) => ({
    from,
    to: name.startsWith(".") ? posix.join(posix.dirname(from), name) : name,
    isPackage: !name.startsWith("."),
  })),
);

test("the table has every folder, each once", () => {
  const folders = [
    ...["activities", "bench", "examples", "packages/*", "src/*", "src/platform/*", "test"],
    ...["tools", "workflows"],
  ];
  const paths = globSync(folders, { cwd: projectRoot }).filter(
    (path) => path !== "src/platform" && featureOf(path) === -1,
  );
  const rooms = globSync(`src/{${features.join(",")}}/*`, { cwd: projectRoot });
  const all = new Set([...paths, ...rooms.map((room) => room.replace(/^src\/[^/]+/, "src/*"))]);
  const named = [...permitted.keys()].filter((name) => !name.endsWith(".ts"));
  expect(named.sort()).toEqual([...all].filter((name) => !name.endsWith(".ts")).sort());
});

test("the imports are those of the tables", () => {
  const used = new Map<string, Set<string>>();
  const wrong: string[] = [];
  for (const { from, to, isPackage } of arrows) {
    const folder = folderOf(from);
    if (permitted.get(folder) === "everything" || fullName(from) === fullName(to)) continue;
    const name = isPackage ? packageOf(to) : shortName(folderOf(to));
    if (!isPackage && isAgainstTheOrder(from, to)) {
      wrong.push(`${from} → ${to}`);
    } else if (name !== "" && name !== shortName(folder)) {
      used.set(folder, (used.get(folder) ?? new Set()).add(name));
    }
  }
  const shown = [...permitted].filter(([, text]) => text !== "everything" && text.includes("`"));
  const sorted = (names: Iterable<string>) => [...names].sort();
  expect([...used].map(([folder, names]) => `${folder}: ${sorted(names)}`).sort()).toEqual(
    shown.map(([folder, text]) => `${folder}: ${sorted(namesIn(text))}`).sort(),
  );
  expect(wrong).toEqual([]);
});

/** Whether the platform imports what knows a feature, or a feature one that comes after it. */
const isAgainstTheOrder = (from: string, to: string): boolean =>
  from.startsWith("src/platform/")
    ? !/^(src\/(platform|gen)\/|package\.json)/.test(to)
    : featureOf(from) !== -1 && featureOf(to) > featureOf(from);

/** Packages of these scopes are in the table by their scope. */
const scopes = /^@(aws-sdk|bufbuild|connectrpc|googleapis|opentelemetry)$/;

/** A package as the table names it; nothing for Node's own modules, which are not in it. */
function packageOf(name: string): string {
  if (name.startsWith("node:")) return "";
  const [first = "", second] = name.split("/");
  return first.startsWith("@") && !scopes.test(first) ? `${first}/${second}` : first;
}

test("only the composition root imports Google and Slack", () => {
  const adapter = /^src\/[^/]+\/(google-sources|slack)\//;
  const entering = arrows.filter(({ from, to }) => adapter.test(to) && !adapter.test(from));
  expect(new Set(entering.map(({ from }) => from))).toEqual(new Set(["src/compose.ts"]));
});

test("what Temporal replays imports no module of Node", () => {
  const replayed = arrows.filter(({ from }) =>
    /^(src\/\*\/(rules|contract)|src\/platform\/(words|contract)|workflows)$/.test(folderOf(from)),
  );
  expect(replayed.length).toBeGreaterThan(100);
  expect(replayed.filter(({ to }) => to.startsWith("node:"))).toEqual([]);
});
