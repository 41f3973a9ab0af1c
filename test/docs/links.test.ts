/** Tests the links of the docs, the paths of pages in other files, and the way to each page. */
import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const { dirname, join, relative } = posix;

const read = (file: string) => readFileSync(projectRoot + file, "utf8");

const pages = globSync(["*.md", "{docs,packages,test,examples,deploy}/**/*.md"], {
  cwd: projectRoot,
  exclude: ["**/node_modules/**"],
});

/** The text of a page without its code blocks. */
const textOf = (page: string) => read(page).replaceAll(/^( *)```.*?^\1```$/gms, "");

/** The anchors that GitHub makes of the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of textOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = text.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");
    const same = [...anchors].filter((other) => other.replace(/-\d+$/, "") === anchor);
    anchors.add(same.length === 0 ? anchor : `${anchor}-${same.length}`);
  }
  return anchors;
}

const files = new Set(globSync("**/*", { cwd: projectRoot, exclude: ["**/node_modules/**"] }));
const anchors = new Map(pages.map((page) => [page, anchorsOf(page)]));

/** Whether a file or folder is there and, if one is named, has a heading with this anchor. */
function leads(path: string, anchor: string | undefined): boolean {
  const file = files.has(join(path, "README.md")) ? join(path, "README.md") : path;
  if (!files.has(file)) return false;
  return anchor === undefined || anchors.get(file)?.has(anchor) === true;
}

/** The links of a page to files and headings. Paths are from the project's root. */
function linksOf(page: string): { readonly path: string; readonly anchor: string | undefined }[] {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = "", anchor] = target.split("#");
      return { path: file === "" ? page : join(dirname(page), file), anchor };
    });
}

test.each(pages)("every link of %s leads to a file and to a heading", (page) => {
  const broken = linksOf(page).filter(({ path, anchor }) => !leads(path, anchor));
  expect(broken).toEqual([]);
});

test("every page of docs is reached from the first one", () => {
  const reached = new Set<string>();
  const visit = (page: string) => {
    if (reached.has(page) || !page.startsWith("docs/")) return;
    reached.add(page);
    for (const { path } of linksOf(page)) if (pages.includes(path)) visit(path);
  };
  visit("docs/README.md");
  const all = pages.filter((page) => page.startsWith("docs/"));
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter((page) => !reached.has(page))).toEqual([]);
});

test("the index of decisions has every decision once", () => {
  const linked = linksOf("docs/decisions/README.md").map(({ path }) => path);
  const decisions = pages.filter((page) => /^docs\/decisions\/\d/.test(page));
  expect(linked.filter((path) => /\/\d{4}-/.test(path)).sort()).toEqual(decisions.sort());
});

test("every path of docs that another file names exists", () => {
  const others = [...files].filter(
    (file) =>
      /^(src|workflows|activities|packages|proto|test|tools|bench|examples|deploy)\//.test(file) &&
      /\.(ts|js|json|ya?ml|proto|md|txt|sh)$|Dockerfile/.test(file),
  );
  const missing = [...others, ...pages].flatMap((file) =>
    [...read(file).matchAll(/(?<![\w/.-])docs\/[\w./-]+?\.md(#[\w-]+)?|docs\/decisions\/\d{4}\b/g)]
      .map(([name]) => name)
      .filter((name) => !name.includes("NNNN") && !isThere(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(missing).toEqual([]);
});

/** Decisions may be named by their number alone. */
function isThere(name: string): boolean {
  const [path = "", anchor] = name.split("#");
  if (/\/\d{4}$/.test(path)) return pages.some((page) => page.startsWith(`${path}-`));
  return leads(relative(".", path), anchor);
}
