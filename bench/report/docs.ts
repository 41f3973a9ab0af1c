/** Writes the results into the tables of docs/change/benchmarks.md, which are between markers. */
import type { Row, Tables } from "../tables.ts";
import type { MeasuredResult, Stored } from "./stored.ts";
import { loadOf, spreadOf, verdictOf } from "./verdict.ts";

/** What the tables are made of. */
export interface Report {
  /** The names of all results that the benchmarks declare. */
  readonly declared: readonly string[];
  readonly stored: Stored;
  readonly tables: Tables;
  /** The hash of the present benchmarks (code.ts). */
  readonly code: string;
}

const marked = /(<!-- results: ([\w-]+) -->\n)[\s\S]*?(<!-- end of results -->)/g;

/** The name of the place that says which run the tables are of. */
const runName = "run";

/** The document with the tables between their markers. The text around them stays. */
export function withTables(markdown: string, report: Report): string {
  return markdown.replace(marked, (whole, begin: string, name: string, end: string) => {
    const rows = report.tables[name];
    if (name === runName) return `${begin}${statement(report)}\n${end}`;
    return rows ? `${begin}${tableOf(report.stored, rows)}\n${end}` : whole;
  });
}

/** What is wrong with the names of the results and of the tables. */
export function wrongNames(markdown: string, { declared, tables }: Report): string[] {
  const shown = Object.values(tables).flatMap((rows) => rows.flatMap((row) => row.of));
  const places = [...markdown.matchAll(marked)].map(([, , name]) => name as string);
  const names = [...Object.keys(tables), runName];
  return [
    ...without(shown, declared).map((name) => `${name} is in a table, but no benchmark has it`),
    ...repeated(shown).map((name) => `${name} is in two rows`),
    ...without(names, places).map((name) => `the document has no table ${name}`),
    ...without(places, names).map((name) => `the document has an unknown table ${name}`),
  ];
}

/** The lines that one text has and the other has not: those of `now` with `-`. */
export function differences(now: string, expected: string): string[] {
  if (now === expected) return [];
  const [old, fresh] = [now.split("\n"), expected.split("\n")];
  const lines = [
    ...without(old, fresh).map((line) => `- ${line}`),
    ...without(fresh, old).map((line) => `+ ${line}`),
  ];
  return lines.length > 0 ? lines : ["the same lines in another order"];
}

const without = (some: readonly string[], others: readonly string[]) =>
  some.filter((one) => !others.includes(one));

const repeated = (names: readonly string[]) => names.filter((name, i) => names.indexOf(name) < i);

/** Says which run all tables are of. */
function statement({ stored: { run }, code }: Report): string {
  if (!run) return "There was no run yet.";
  const { commit, time, minutes, processor, foreignLoad, failed } = run;
  return [
    `All results are of one run of commit ${commit.slice(0, 8)} on ${time.slice(0, 10)}:`,
    `${minutes} minutes on ${processor}.`,
    `CPU time that other processes used: ${loadOf(foreignLoad)}.`,
    ...(failed.length > 0 ? [`Failed, and in no table: ${failed.join(", ")}.`] : []),
    ...(run.code === code ? [] : ["The code of the benchmarks has changed since."]),
  ].join("\n");
}

const columns = ["value", "turns", "target", "verdict"];

/** The rows of which the run has results. */
function tableOf({ results }: Stored, rows: readonly Row[]): string {
  const known = new Map(results.map((result) => [result.name, result]));
  const shown = rows.filter((row) => row.of.some((name) => known.has(name)));
  if (shown.length === 0) return "There are no results.";
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const lines = shown.map((row) => {
    const each = row.of.map((name) => cellsOf(known.get(name), row.in));
    return line([row.what, ...columns.map((_, i) => joined(each.map((cells) => cells[i] || "–")))]);
  });
  return [line(["what", ...columns]), `|${"---|".repeat(1 + columns.length)}`, ...lines].join("\n");
}

function cellsOf(result: MeasuredResult | undefined, unit: Row["in"]): string[] {
  if (!result) return [];
  const format = (value: number) => formatted(value, unit);
  return [
    format(result.value),
    spreadOf(result).map(format).join(" / "),
    result.target.replace(/^([<>])= (.*)$/, (_, relation, limit) => {
      return `${relation === ">" ? "≥" : "≤"} ${format(Number(limit))}`;
    }),
    { met: "met", MISSED: "**missed**", noisy: "*noisy*" }[verdictOf(result)] ?? "",
  ];
}

/** One cell for several results, which says once what holds for all. */
const joined = (cells: readonly string[]) =>
  new Set(cells).size === 1 ? (cells[0] as string) : cells.join("; ");

function formatted(value: number, unit: Row["in"]): string {
  const number = value > 0 && value < 0.001 ? "< 0.001" : String(value);
  return unit ? `${number} ${unit}` : number;
}
