/** Tests the dashboard: what its panels ask Prometheus for. `check:generated` compares its file. */
import { expect, test } from "vitest";
import { dashboardJson } from "../../tools/dev/dashboard.ts";
import { unknownNames } from "../support/promql.ts";

interface Panel {
  readonly title: string;
  readonly datasource: unknown;
  readonly targets?: readonly { readonly expr: string }[];
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
}

const { panels } = JSON.parse(dashboardJson()) as { panels: readonly Panel[] };
const graphs = panels.filter(({ targets }) => targets);

test.each(graphs)("$title asks for what pages have", ({ targets, datasource }) => {
  expect(datasource).toEqual({ type: "prometheus", uid: "$datasource" });
  const [target] = targets ?? [];
  // Grafana replaces the variable by a time that fits the scrapes.
  expect(unknownNames(target?.expr.replaceAll("$__rate_interval", "1m") ?? "")).toEqual([]);
});

test("no two panels are at one place", () => {
  const places = panels.map(({ gridPos: { x, y } }) => `${x},${y}`);
  expect(new Set(places).size).toBe(places.length);
  expect(graphs.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});
