/** Tests the alerts of deploy/prometheus: what they say, what they name, and where they lead. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { projectRoot } from "../support/markdown.ts";
import { isByRelease, namesOf, unknownNames } from "../support/promql.ts";
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

/** A healthy release, as it is scraped each `step` seconds: the values of each of its series. */
const healthySeries = (step: number): Readonly<Record<string, string>> => ({
  'up{job="meguri-server"}': "1",
  'up{job="meguri-worker"}': "1",
  'up{job="meguri-events"}': "1",
  meguri_events_writing: "1",
  'meguri_events_behind_seconds{table="points"}': "0",
  'meguri_events_gaps_total{table="points"}': "0",
  'meguri_events_unreadable_total{table="points"}': "0",
  'meguri_subscription_behind_seconds{subscription="shop"}': "0",
  'meguri_subscription_paused{subscription="shop"}': "0",
  meguri_last_sweep_timestamp_seconds: `0+${step}`,
  meguri_reconciler_last_pass_timestamp_seconds: `0+${step}`,
  meguri_reservation_oldest_past_due_seconds: "0",
  meguri_reservation_oldest_overdue_seconds: "0",
  meguri_store_silence_seconds: "0",
  'meguri_store_refusals_total{operation="Scan",table="points"}': "0",
  'meguri_store_requests_total{result="ok"}': "0+1000000",
  'meguri_store_throttles_total{table="points"}': "0",
  meguri_temporal_silence_seconds: "0",
  'meguri_calls_total{reason="OK"}': "0+1000000",
  'meguri_waiting_for_people_oldest_seconds{kind="bulk_grant"}': "0",
  'meguri_month_end_months_behind{program_id="shop"}': "0",
  'meguri_month_end_failed_accounts{program_id="shop"}': "0",
  'meguri_reports_failed_total{kind="REMINDER"}': "0",
  'meguri_key_age_seconds{keys="jwt",instance="s"}': "0",
  'meguri_certificate_end_timestamp_seconds{certificate="tls",instance="s"}': "9000000",
  'meguri_certificate_start_timestamp_seconds{certificate="tls",instance="s"}': "0",
  meguri_schedules_not_ensured: "0",
  'temporal_worker_task_slots_available{task_queue="meguri",worker_type="ActivityWorker"}': "100",
  ...Object.fromEntries(
    ["activity", "workflow_task"].flatMap((task) =>
      ["1", "+Inf"].map((le) => {
        const name = `temporal_${task}_schedule_to_start_latency_seconds_bucket`;
        return [`${name}{task_queue="meguri",le="${le}"}`, "0+1000000"];
      }),
    ),
  ),
});

test("a healthy release beside another one changes none of its alerts", async () => {
  const text = readFileSync(`${folder}/rules.test.yml`, "utf8")
    .replace("[rules.yml]", `["${folder}/rules.yml"]`)
    .replaceAll(/interval: (\d+)([ms])\n {4}input_series:\n/g, (found, time, unit) => {
      const series = healthySeries(Number(time) * (unit === "m" ? 60 : 1));
      const lines = Object.entries(series).map(([name, values]) => {
        const [metric, labels = "}"] = name.split("{");
        const all = `${metric}{release="healthy",${labels}`;
        return `      - { series: '${all}', values: '${values}x200' }\n`;
      });
      return found + lines.join("");
    });
  const temporary = mkdtempSync(join(tmpdir(), "meguri-releases-"));
  const file = join(temporary, "rules.test.yml");
  writeFileSync(file, text);
  try {
    expect(await promtool(["test", "rules", file])).toContain("SUCCESS");
  } finally {
    rmSync(temporary, { recursive: true });
  }
  const present = Object.keys(healthySeries(15)).map((name) => name.split("{")[0]);
  const used = rules.flatMap(({ expr }) => namesOf(expr).metrics);
  expect(used.filter((name) => !present.includes(name) && !recorded.includes(name))).toEqual([]);
});

test.each(rules)("$alert$record looks at each release apart", ({ expr }) => {
  expect(isByRelease(expr)).toBe(true);
});

test("every alert is made to fire by a test", () => {
  const fired = read("rules.test.yml").tests.flatMap(
    ({ alert_rule_test: rows = [] }: { alert_rule_test?: Record<string, unknown>[] }) =>
      rows.filter(({ exp_alerts }) => exp_alerts).map(({ alertname }) => alertname),
  );
  expect([...fired].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

test.each(alerts)("$alert is made true by a real fault in a soak test", ({ alert }) => {
  const files = ["alerts", "missed-work-alerts", "event-alerts"].map(
    (name) => `test/soak/${name}.soak.ts`,
  );
  const soaks = files.map((file) => readFileSync(projectRoot + file, "utf8"));
  expect(soaks.join("")).toMatch(new RegExp(`\\b${alert}\\b`));
});

test.each(rules)("$alert$record names metrics and labels that pages have", ({ expr }) => {
  expect(unknownNames(expr).filter((name) => !recorded.includes(name))).toEqual([]);
});

test.each(alerts)("$alert leads to a heading of the runbook", ({ annotations, labels }) => {
  const link = annotations.runbook_url?.replace("https://docs.example/", "docs/");
  const [page = "", anchor] = link?.split("#") ?? [];
  const headings = readFileSync(projectRoot + page, "utf8").matchAll(/^## (.+)$/gm);
  const anchors = [...headings].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
  expect(anchors).toContain(anchor);
  expect(labels.severity).toMatch(/^(page|ticket)$/);
});

const guides = ["reservations", "bulk-grants", "runbook", "watching"]
  .map((name) => readFileSync(`${projectRoot}docs/run/${name}.md`, "utf8"))
  .join("\n");

test.each(alerts)(
  "$alert links to its dashboard, and to a list of the guides",
  ({ annotations }) => {
    const { dashboard_url: dashboard, workflows_url: workflows } = annotations;
    expect(dashboard).toBe(
      "https://grafana.example/d/meguri?var-release={{ $labels.release | urlquery }}",
    );
    if (workflows === undefined) return;
    const { origin, pathname, searchParams } = new URL(workflows);
    expect(origin + pathname).toBe("https://temporal.example/namespaces/default/workflows");
    expect(guides).toContain(searchParams.get("query"));
  },
);

test("unknown names and broken expressions are found", () => {
  expect(unknownNames("rate(meguri_reservation_lateness_seconds[1m])")).toEqual([
    "meguri_reservation_lateness_seconds",
  ]);
  expect(unknownNames("sum by (user) (up)")).toEqual(["user"]);
  expect(isByRelease("max by (release, job) (up) > 0 or absent(up)")).toBe(true);
  expect(isByRelease("max(up) > 0")).toBe(false);
  expect(isByRelease("max by (job) (sum by (release) (up))")).toBe(false);
  expect(isByRelease("up and on () up")).toBe(false);
  expect(() => namesOf("sum(up")).toThrow("no PromQL");
});
