/** Tests docs/run/kubernetes.md: the values, files and processes that it names exist. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { projectRoot } from "../support/markdown.ts";

const text = readFileSync(`${projectRoot}docs/run/kubernetes.md`, "utf8");
const values = parse(readFileSync(`${projectRoot}deploy/chart/values.yaml`, "utf8"));

/** What a pattern with one group finds in the page. */
const findAll = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => found);

test("every value that it names is one of the chart", () => {
  const named = [
    ...findAll(/`((?:image|server|worker|setup|networkPolicy|monitoring)\.\w+)[`=]/g),
    ...findAll(/--set ([\w.]+)=/g),
  ];
  expect(named.length).toBeGreaterThan(5);
  for (const path of named) {
    const value = path.split(".").reduce((at, key) => at?.[key], values);
    expect(value, path).toBeDefined();
  }
});

test("every file that it links to or runs is there", () => {
  const linked = findAll(/\]\(([^)#]+)/g).map((path) => join(projectRoot, "docs/run", path));
  const run = findAll(/node (src\/\S+)/g).map((path) => join(projectRoot, path));
  expect(linked.length).toBeGreaterThan(5);
  expect(run.length).toBeGreaterThan(0);
  expect([...linked, ...run].filter((path) => !existsSync(path))).toEqual([]);
});

test("every part that it begins with is a heading of its own", () => {
  const anchors = findAll(/^- \[.+\]\(#(.+)\)$/gm);
  const headings = findAll(/^## (.+)$/gm).map((title) => title.toLowerCase().replaceAll(" ", "-"));
  expect(anchors).toEqual(headings);
});
