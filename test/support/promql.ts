/** Reads what a PromQL expression names, and what docs/run/metrics.md says that pages have. */
import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { projectRoot } from "./markdown.ts";

/** Metrics and labels, each name once. */
interface Names {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

/** @throws Error when it is no PromQL. */
export function namesOf(expression: string): Names {
  const metrics = new Set<string>();
  const labels = new Set<string>();
  parser.parse(expression).iterate({
    enter({ name, type, from, to }) {
      const text = expression.slice(from, to);
      if (type.isError) throw new Error(`no PromQL at ${from} of ${expression}`);
      if (name === "Identifier") metrics.add(text);
      if (name === "LabelName") labels.add(text);
    },
  });
  return { metrics: [...metrics], labels: [...labels] };
}

/**
 * The names of an expression that no page has: metrics that are not in the tables of
 * docs/run/metrics.md, and labels that none of its metrics has. A test compares these tables with
 * the pages of real processes. Prometheus itself adds `up`, `job` and `instance`.
 */
export function unknownNames(expression: string): string[] {
  const { metrics, labels } = namesOf(expression);
  const tables = documentedLabels();
  const known = metrics.map((metric) => tables.get(metric));
  return [
    ...metrics.filter((metric) => !tables.has(metric)),
    ...labels.filter((label) => !known.some((some) => some?.includes(label))),
  ];
}

/** The labels of each metric: of a histogram, of its three. */
function documentedLabels(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(`${projectRoot}docs/run/metrics.md`, "utf8");
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \|/gm)];
  const ofPages = rows.flatMap(([, name = "", type, cell = ""]): [string, string[]][] => {
    const labels = [...cell.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label);
    const all = ["job", "instance", ...labels];
    if (type !== "histogram") return [[name, all]];
    return [
      [`${name}_bucket`, [...all, "le"]],
      [`${name}_sum`, all],
      [`${name}_count`, all],
    ];
  });
  return new Map([...ofPages, ["up", ["job", "instance"]]]);
}
