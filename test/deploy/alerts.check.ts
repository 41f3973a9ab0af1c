/** Tests the alerts of deploy/prometheus: what they say, what they name, and where they lead. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { projectRoot } from "../support/markdown.ts";
import { namesOf, unknownNames } from "../support/promql.ts";
import { promtool } from "../support/servers/promtool.ts";

const folder = `${projectRoot}deploy/prometheus`;

interface Rule {
  readonly record?: string;
  readonly expr: string;
}

interface Alert extends Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const read = (file: string) => parse(readFileSync(`${folder}/${file}`, "utf8"));
const rules: readonly (Rule | Alert)[] = read("rules.yml").groups.flatMap(
  (group: { rules: (Rule | Alert)[] }) => group.rules,
);
const alerts = rules.filter((rule) => "alert" in rule);
const recorded = rules.map(({ record }) => record);

test("promtool accepts the rules, and their tests pass", async () => {
  expect(await promtool(["check", "rules", `${folder}/rules.yml`])).toContain("SUCCESS");
  expect(await promtool(["test", "rules", `${folder}/rules.test.yml`])).toContain("SUCCESS");
});

test("every alert is made to fire by a test", () => {
  const fired = read("rules.test.yml").tests.flatMap(
    ({ alert_rule_test: rows = [] }: { alert_rule_test?: Record<string, unknown>[] }) =>
      rows.filter(({ exp_alerts }) => exp_alerts).map(({ alertname }) => alertname),
  );
  expect([...fired].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

test.each(alerts)("$alert is made true by a real fault in a soak test", ({ alert }) => {
  const files = ["alerts", "missed-work-alerts"].map((name) => `test/soak/${name}.soak.ts`);
  const soaks = files.map((file) => readFileSync(projectRoot + file, "utf8"));
  expect(soaks.join("")).toMatch(new RegExp(`\\b${alert}\\b`));
});

test.each(rules)("$alert$record names metrics and labels that pages have", ({ expr }) => {
  expect(unknownNames(expr).filter((name) => !recorded.includes(name))).toEqual([]);
});

test.each(alerts)("$alert leads to a heading of the runbook", ({ annotations, labels }) => {
  const [page = "", anchor] = annotations.runbook?.split("#") ?? [];
  const headings = readFileSync(projectRoot + page, "utf8").matchAll(/^## (.+)$/gm);
  const anchors = [...headings].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
  expect(anchors).toContain(anchor);
  expect(labels.severity).toMatch(/^(page|ticket)$/);
});

test("unknown names and broken expressions are found", () => {
  expect(unknownNames("rate(meguri_reservation_lateness_seconds[1m])")).toEqual([
    "meguri_reservation_lateness_seconds",
  ]);
  expect(unknownNames("sum by (user) (up)")).toEqual(["user"]);
  expect(() => namesOf("sum(up")).toThrow("no PromQL");
});
