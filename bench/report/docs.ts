/** Writes the results into the tables of docs/benchmarks.md, which are between markers. */
import { round } from "../support/numbers.ts";
import type { Row, Tables } from "../tables.ts";
import type { RunInfo, StoredResult } from "./stored.ts";
import { ageOf, loadOf, spreadOf, verdictOf } from "./verdict.ts";

/** What the tables are made of. */
export interface Report {
  /** The names of all results that the benchmarks declare. */
  readonly declared: readonly string[];
  readonly results: readonly StoredResult[];
  readonly tables: Tables;
  /** The hashes of the present code by the names of results (code.ts). */
  readonly code: ReadonlyMap<string, string>;
}

const marked = /(<!-- results: ([\w-]+) -->\n)[\s\S]*?(<!-- end of results -->)/g;

/** The name of the table of all runs. */
const runsName = "runs";

/** The document with the tables between their markers. The text around them stays. */
export function withTables(markdown: string, report: Report): string {
  return markdown.replace(marked, (whole, begin: string, name: string, end: string) => {
    if (name === runsName) return `${begin}${runsTable(report)}\n${end}`;
    const rows = report.tables[name];
    return rows ? `${begin}${resultsTable(report, rows)}\n${end}` : whole;
  });
}

/** What is wrong with the names of the results and of the tables. */
export function wrongNames(markdown: string, { declared, tables }: Report): string[] {
  const shown = Object.values(tables).flatMap((rows) => rows.flatMap((row) => row.of));
  const places = [...markdown.matchAll(marked)].map(([, , name]) => name as string);
  const names = [...Object.keys(tables), runsName];
  return [
    ...without(declared, shown).map((name) => `${name} is in no table of bench/tables.ts`),
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

const columns = ["value", "turns", "target", "verdict", "run"];

function resultsTable({ results, code }: Report, rows: readonly Row[]): string {
  const known = new Map(results.map((result) => [result.name, result]));
  return tableOf(
    ["what", ...columns],
    rows.map((row) => {
      const each = row.of.map((name) => cellsOf(known.get(name), row.in, code.get(name)));
      return [row.what, ...columns.map((_, i) => joined(each.map((cells) => cells[i] || "–")))];
    }),
  );
}

function cellsOf(
  result: StoredResult | undefined,
  unit: Row["in"],
  currentCode: string | undefined,
): string[] {
  if (!result) return ["", "", "", "*not measured*", ""];
  const format = (value: number) => formatted(value, unit);
  const verdict = verdictOf(result);
  const age = ageOf(result, currentCode);
  return [
    format(result.value),
    spreadOf(result).map(format).join(" / "),
    result.target.replace(/^([<>])= (.*)$/, (_, relation, limit) => {
      return `${relation === ">" ? "≥" : "≤"} ${format(Number(limit))}`;
    }),
    { met: "met", MISSED: "**missed**", noisy: "*noisy*" }[verdict] ?? "",
    [...(result.run ? [commitOf(result.run), loadOf(result.run)] : []), age && `*${age}*`]
      .filter((part) => part !== "")
      .join(", "),
  ];
}

/** The runs of which results are stored: those of one day and commit are one. */
function runsTable({ results }: Report): string {
  const groups = Map.groupBy(results, ({ run }) =>
    run ? [commitOf(run), run.time.slice(0, 10), run.processor].join(" | ") : "not known | – | –",
  );
  return tableOf(
    ["commit", "day", "processor", "results"],
    [...groups].map(([key, all]) => [key, String(all.length)]),
  );
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** One cell for several results, which says once what holds for all. */
const joined = (cells: readonly string[]) =>
  new Set(cells).size === 1 ? (cells[0] as string) : cells.join("; ");

/** The beginning of the commit, with a plus when files differed from it. */
const commitOf = ({ commit, changed }: RunInfo) => `${commit.slice(0, 8)}${changed ? "+" : ""}`;

function formatted(value: number, unit: Row["in"]): string {
  if (unit === "%") return `${round(100 * value)} %`;
  const number = value > 0 && value < 0.001 ? "< 0.001" : String(value);
  return unit ? `${number} ${unit}` : number;
}
