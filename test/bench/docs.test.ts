/** Tests that docs/benchmarks.md has the stored results, and that a wrong row is found. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { differences, type Report, withTables, wrongNames } from "../../bench/report/docs.ts";
import { merge, readResults, type StoredResult } from "../../bench/report/stored.ts";
import { tables } from "../../bench/tables.ts";
import { projectRoot } from "../support/markdown.ts";

test("the tables of the page are those of the results, and every result is in one", async () => {
  const command = ["bench/main.ts", "--check"];
  // Prints the difference when it fails.
  await promisify(execFile)(process.execPath, command, { cwd: projectRoot });
});

const page = [
  "# Page",
  "<!-- results: runs -->",
  "<!-- end of results -->",
  "Text.",
  "<!-- results: calls -->",
  "old",
  "<!-- end of results -->",
  "More.",
].join("\n");

const run = {
  commit: "0123456789",
  changed: true,
  time: "2026-11-26T10:00:00.000Z",
  processor: "Model, 2 cores",
  foreignLoad: 0.04,
  code: "h",
};

const results: readonly StoredResult[] = [
  { name: "a", value: 3, unit: "", target: ">= 2", baseline: "", turns: [4, 2.5, 3], run },
  { name: "b", value: 0.5, unit: "", target: "<= 0.4", baseline: "", run },
  { name: "c", value: 7, unit: "", target: "", baseline: "" },
  {
    name: "d",
    value: 7,
    unit: "",
    target: "<= 6",
    baseline: "",
    run: { ...run, foreignLoad: 0.2 },
  },
];

const report: Report = {
  declared: ["a", "b", "c", "d", "e"],
  results,
  tables: {
    calls: [
      { what: "A", of: ["a"] },
      { what: "B", of: ["b"], in: "%" },
      { what: "C; E", of: ["c", "e"], in: "s" },
      { what: "D", of: ["d"] },
    ],
  },
  code: new Map([
    ["a", "h"],
    ["b", "changed"],
    ["d", "h"],
  ]),
};

test("a table has a row for each label, and the text around it stays", () => {
  expect(withTables(page, report).split("\n")).toEqual([
    "# Page",
    "<!-- results: runs -->",
    "| commit | day | processor | results |",
    "|---|---|---|---|",
    "| 01234567+ | 2026-11-26 | Model, 2 cores | 3 |",
    "| not known | – | – | 1 |",
    "<!-- end of results -->",
    "Text.",
    "<!-- results: calls -->",
    "| what | value | turns | target | verdict | run |",
    "|---|---|---|---|---|---|",
    "| A | 3 | 2.5 / 3 / 4 | ≥ 2 | met | 01234567+, 4.0 % |",
    "| B | 50 % | – | ≤ 40 % | **missed** | 01234567+, 4.0 %, *older than the code* |",
    "| C; E | 7 s; – | – | – | –; *not measured* | *no run known*; – |",
    "| D | 7 | – | ≤ 6 | *noisy* | 01234567+, 20.0 % |",
    "<!-- end of results -->",
    "More.",
  ]);
  expect(wrongNames(page, report)).toEqual([]);
});

describe("a wrong page is found:", () => {
  const real = readFileSync(`${projectRoot}docs/benchmarks.md`, "utf8");
  const stored = readResults();
  const realReport = {
    declared: stored.map(({ name }) => name),
    results: stored,
    tables,
    code: new Map(),
  };
  const right = withTables(real, realReport);
  const [row = ""] = right.match(/^\| write units of a use, 64 callers.*$/m) ?? [];

  test.each([
    ["another value", row, row.replace(/\d+\.\d+/, "6.4")],
    ["another target", row, row.replace("≤ 7", "≤ 8")],
    ["a missing row", `${row}\n`, ""],
    ["an added row", row, `${row}\n| more |`],
  ])("%s", (_, from, to) => {
    const wrong = right.replace(from, to);
    expect(wrong).not.toBe(right);
    expect(differences(wrong, withTables(wrong, realReport))).not.toEqual([]);
    expect(differences(right, withTables(right, realReport))).toEqual([]);
  });

  test("a row twice", () => {
    expect(differences(`${right}${row}\n`, right)).toEqual(["the same lines in another order"]);
  });
});

test("names that are in no table, in two, or of no benchmark are found", () => {
  const wrong = { ...report, declared: ["a", "b", "c", "d", "x"] };
  expect(wrongNames(page, wrong)).toEqual([
    "x is in no table of bench/tables.ts",
    "e is in a table, but no benchmark has it",
  ]);
  const [first] = report.tables.calls as [Report["tables"][string][number]];
  const twice = { ...report, tables: { calls: [...(report.tables.calls ?? []), first] } };
  expect(wrongNames(page, twice)).toEqual(["a is in two rows"]);
  expect(wrongNames(page.replace("results: calls", "results: call"), report)).toEqual([
    "the document has no table calls",
    "the document has an unknown table call",
  ]);
});

test("new results replace the old ones of their name, in the order of the names", () => {
  const [a, b, c] = results as [StoredResult, StoredResult, StoredResult];
  const now = { ...b, value: 1 };
  expect(merge(["a", "b", "c"], [c, b, a], [now])).toEqual([a, now, c]);
  expect(merge(["a"], [c, b, a], [])).toEqual([a]);
});
