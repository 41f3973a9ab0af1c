/** Tests the dashboard: what its panels ask Prometheus for. `check:generated` compares its file. */
import { expect, test } from "vitest";
import { dashboardJson } from "../../tools/dev/dashboard.ts";
import { isByRelease, selectorsOf, unknownNames } from "../support/promql.ts";

interface Panel {
  readonly title: string;
  readonly datasource: unknown;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly links: readonly { readonly title: string; readonly url: string }[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

const { panels, templating, links } = JSON.parse(dashboardJson()) as Dashboard;
const graphs = panels.filter(({ targets }) => targets);

test.each(graphs)("$title asks for what pages have", ({ targets, datasource }) => {
  expect(datasource).toEqual({ type: "prometheus", uid: "$datasource" });
  const [target] = targets ?? [];
  // Grafana replaces the variable by a time that fits the scrapes.
  const expression = target?.expr.replaceAll("$__rate_interval", "1m") ?? "";
  expect(unknownNames(expression)).toEqual([]);
});

test.each(graphs)("$title shows each chosen release apart", ({ targets }) => {
  const [target] = targets ?? [];
  const expression = target?.expr.replaceAll("$__rate_interval", "1m") ?? "";
  expect(isByRelease(expression)).toBe(true);
  for (const selector of selectorsOf(expression)) expect(selector).toContain('release=~"$release"');
  expect(target?.legendFormat).toMatch(/^\{\{release\}\} /);
});

test("the releases that can be chosen are those that are scraped", () => {
  expect(templating.list.find(({ name }) => name === "release")).toMatchObject({
    query: { query: 'label_values(up{job=~"meguri-.+"}, release)' },
    includeAll: true,
    allValue: ".*",
  });
});

test("no two panels are at one place", () => {
  const places = panels.map(({ gridPos: { x, y } }) => `${x},${y}`);
  expect(new Set(places).size).toBe(places.length);
  expect(graphs.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});

test("it links to the runbook, and to lists of workflows over its time", () => {
  expect(links.map(({ title }) => title)).toEqual([
    ...["Runbook", "What has failed", "What waits for people", "What is due", "Month ends"],
  ]);
  const [runbook, failed] = links;
  expect(runbook?.url).toBe("https://docs.example/run/runbook.md");
  const { origin, pathname, searchParams } = new URL(failed?.url ?? "");
  expect(origin + pathname).toBe("https://temporal.example/namespaces/default/workflows");
  const begin = "$" + "{__from:date:iso}";
  expect(failed?.url).toContain(begin);
  expect(searchParams.get("query")).toBe(`ExecutionStatus = "Failed" AND CloseTime > "${begin}"`);
});
