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
 * Whether an expression keeps releases apart: every aggregation is by `release`, and no operator
 * leaves the label out where it compares two sides.
 */
export function isByRelease(expression: string): boolean {
  let isApart = true;
  parser.parse(expression).iterate({
    enter({ name, node, from, to }) {
      const text = expression.slice(from, to);
      if (name === "AggregateExpr") {
        const modifier = node.getChild("AggregateModifier");
        isApart &&= /^by\b.*\brelease\b/s.test(expression.slice(modifier?.from, modifier?.to));
      }
      if (name === "MatchingModifierClause") isApart &&= /\brelease\b/.test(text);
    },
  });
  return isApart;
}

/** The selectors of an expression, such as `up{job="a"}`. */
export function selectorsOf(expression: string): string[] {
  const selectors: string[] = [];
  parser.parse(expression).iterate({
    enter({ name, from, to }) {
      if (name === "VectorSelector") selectors.push(expression.slice(from, to));
    },
  });
  return selectors;
}

/**
 * The names of an expression that no page has: metrics that are not in the tables of
 * docs/run/metrics.md, and labels that none of its metrics has. A test compares these tables with
 * the pages of real processes. Prometheus itself adds `up`, `job`, `instance` and `release`.
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

const ofTargets = ["job", "instance", "release"];

/** The labels of each metric: of a histogram, of its three. */
function documentedLabels(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(`${projectRoot}docs/run/metrics.md`, "utf8");
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \|/gm)];
  const ofPages = rows.flatMap(([, name = "", type, cell = ""]): [string, string[]][] => {
    const labels = [...cell.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label);
    const all = [...ofTargets, ...labels];
    if (type !== "histogram") return [[name, all]];
    return [
      [`${name}_bucket`, [...all, "le"]],
      [`${name}_sum`, all],
      [`${name}_count`, all],
    ];
  });
  return new Map([...ofPages, ["up", ofTargets]]);
}
