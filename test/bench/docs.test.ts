/** Tests that docs/change/benchmarks.md has the last results, and that a wrong row is found. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { differences, type Report, withTables, wrongNames } from "../../bench/report/docs.ts";
import { projectRoot } from "../support/markdown.ts";

test("the tables of the page are those of the last run", async () => {
  const command = ["bench/main.ts", "--check"];
  // Prints the difference when it fails.
  await promisify(execFile)(process.execPath, command, { cwd: projectRoot });
});

const page = [
  "# Page",
  "<!-- results: run -->",
  "<!-- end of results -->",
  "Text.",
  "<!-- results: calls -->",
  "old",
  "<!-- end of results -->",
  "More.",
].join("\n");

const run = {
  commit: "0123456789",
  time: "2026-11-26T10:00:00.000Z",
  minutes: 40,
  processor: "Model, 2 cores",
  foreignLoad: 0.04,
  code: "h",
  failed: [],
};

const common = { unit: "", target: "", baseline: "", foreignLoad: 0.04 };
const results = [
  { ...common, name: "a", value: 3, target: ">= 2", turns: [4, 2.5, 3] },
  { ...common, name: "b", value: 0.5, target: "<= 0.4" },
  { ...common, name: "c", value: 7 },
  { ...common, name: "d", value: 7, target: "<= 6", foreignLoad: 0.2 },
];

const report: Report = {
  declared: ["a", "b", "c", "d", "e", "f"],
  stored: { run, results },
  tables: {
    calls: [
      { what: "A", of: ["a"] },
      { what: "B", of: ["b"], in: "ms" },
      { what: "C; E", of: ["c", "e"], in: "s" },
      { what: "D", of: ["d"] },
      { what: "F", of: ["f"] },
    ],
  },
  code: "h",
};

test("a table has a row for each label with a result, and the text around it stays", () => {
  expect(withTables(page, report).split("\n")).toEqual([
    "# Page",
    "<!-- results: run -->",
    "All results are of one run of commit 01234567 on 2026-11-26:",
    "40 minutes on Model, 2 cores.",
    "CPU time that other processes used: 4.0 %.",
    "<!-- end of results -->",
    "Text.",
    "<!-- results: calls -->",
    "| what | value | turns | target | verdict |",
    "|---|---|---|---|---|",
    "| A | 3 | 2.5 / 3 / 4 | ≥ 2 | met |",
    "| B | 0.5 ms | – | ≤ 0.4 ms | **missed** |",
    "| C; E | 7 s; – | – | – | – |",
    "| D | 7 | – | ≤ 6 | *noisy* |",
    "<!-- end of results -->",
    "More.",
  ]);
  expect(wrongNames(page, report)).toEqual([]);
});

test("the page says what failed, and that the benchmarks have changed since", () => {
  const later = { ...report, stored: { run: { ...run, failed: ["e", "f"] }, results }, code: "i" };
  const lines = withTables(page, later).split("\n");
  expect(lines).toContain("Failed, and in no table: e, f.");
  expect(lines).toContain("The code of the benchmarks has changed since.");
});

test("before the first run, no table has a result", () => {
  expect(withTables(page, { ...report, stored: { results: [] } }).split("\n")).toEqual([
    "# Page",
    "<!-- results: run -->",
    "There was no run yet.",
    "<!-- end of results -->",
    "Text.",
    "<!-- results: calls -->",
    "There are no results.",
    "<!-- end of results -->",
    "More.",
  ]);
});

describe("a wrong page is found:", () => {
  const right = withTables(page, report);
  const row = "| B | 0.5 ms | – | ≤ 0.4 ms | **missed** |";

  test.each([
    ["another value", row, row.replace("0.5", "0.3")],
    ["another target", row, row.replace("≤ 0.4", "≤ 0.6")],
    ["another commit", "01234567", "12345678"],
    ["a missing row", `${row}\n`, ""],
    ["an added row", row, `${row}\n| more |`],
  ])("%s", (_, from, to) => {
    const wrong = right.replace(from, to);
    expect(wrong).not.toBe(right);
    expect(differences(wrong, withTables(wrong, report))).not.toEqual([]);
    expect(differences(right, withTables(right, report))).toEqual([]);
  });

  test("a row twice", () => {
    expect(differences(right.replace(row, `${row}\n${row}`), right)).toEqual([
      "the same lines in another order",
    ]);
  });
});

test("names that are in two rows or of no benchmark are found, and unknown tables", () => {
  expect(wrongNames(page, { ...report, declared: ["a", "b", "c", "d", "f"] })).toEqual([
    "e is in a table, but no benchmark has it",
  ]);
  const twice = { calls: [...(report.tables.calls ?? []), { what: "A", of: ["a"] }] };
  expect(wrongNames(page, { ...report, tables: twice })).toEqual(["a is in two rows"]);
  expect(wrongNames(page.replace("results: calls", "results: call"), report)).toEqual([
    "the document has no table calls",
    "the document has an unknown table call",
  ]);
});
