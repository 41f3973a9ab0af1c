/** Builds the dashboard for Grafana, deploy/grafana/meguri.json, out of a table of its panels. */
import { VizLegendOptionsBuilder } from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

interface Panel {
  readonly title: string;
  readonly unit: "s" | "short" | "reqps" | "bytes" | "percentunit";
  readonly description: string;
  readonly query: string;
  readonly legend: string;
}

/** A variable of Grafana: an end of the time that the dashboard shows. */
const shown = (end: "from" | "to"): string => `"$\{__${end}:date:iso}"`;

/** The lists of Temporal's Web UI that the dashboard links to, over the time that it shows. */
const lists: Readonly<Record<string, string>> = {
  "What has failed": `ExecutionStatus = "Failed" AND CloseTime > ${shown("from")}`,
  "What waits for people": 'MeguriState = "AWAITING_APPROVAL" AND ExecutionStatus = "Running"',
  "What is due":
    'WorkflowType = "reservation" AND ExecutionStatus = "Running" ' +
    `AND MeguriExecuteTime < ${shown("to")}`,
  "Month ends": `WorkflowType = "monthEnd" AND StartTime > ${shown("from")}`,
};

/** The address of a list. Grafana replaces its variables in it, whose marks stay as they are. */
const listUrl = (query: string): string =>
  "https://temporal.example/namespaces/default/workflows?query=" +
  query
    .split(/(\$\{.*?\})/)
    .map((part) => (part.startsWith("${") ? part : encodeURIComponent(part)))
    .join("");

/** The series of a metric in the releases that are chosen above the panels. */
const of = (metric: string): string => `${metric}{release=~"$release"}`;

/** Their rates, over a time that fits the scrapes. */
const rate = (counter: string): string => `rate(${of(counter)}[$__rate_interval])`;

/** A quantile of a histogram, by these labels. */
const quantile = (share: number, by: string, histogram: string): string =>
  `histogram_quantile(${share}, sum by (${by}, le) (${rate(`${histogram}_bucket`)}))`;

/** The rows, and their panels from left to right. */
const rows: Readonly<Record<string, readonly Panel[]>> = {
  Processes: [
    {
      title: "Processes",
      unit: "short",
      description: "Servers, workers and events processes that answer the scrapes.",
      query: 'sum by (release, job) (up{job=~"meguri-.+",release=~"$release"})',
      legend: "{{release}} {{job}}",
    },
    {
      title: "Delay of the event loop",
      unit: "s",
      description: "99th percentile since the scrape before.",
      query: 'nodejs_eventloop_lag_p99_seconds{job=~"meguri-.+",release=~"$release"}',
      legend: "{{release}} {{job}} {{instance}}",
    },
    {
      title: "Memory",
      unit: "bytes",
      description: "What a process occupies.",
      query: 'process_resident_memory_bytes{job=~"meguri-.+",release=~"$release"}',
      legend: "{{release}} {{job}} {{instance}}",
    },
    {
      title: "CPU",
      unit: "percentunit",
      description: "A process uses little more than one core.",
      query:
        'rate(process_cpu_seconds_total{job=~"meguri-.+",release=~"$release"}[$__rate_interval])',
      legend: "{{release}} {{job}} {{instance}}",
    },
  ],
  Calls: [
    {
      title: "Calls",
      unit: "reqps",
      description: "Calls that have ended, by their reason.",
      query: `sum by (release, reason) (${rate("meguri_calls_total")})`,
      legend: "{{release}} {{reason}}",
    },
    {
      title: "Services",
      unit: "reqps",
      description: "The ten services that call most.",
      query: `topk by (release) (10, sum by (release, service) (${rate("meguri_calls_total")}))`,
      legend: "{{release}} {{service}}",
    },
    {
      title: "Failed calls",
      unit: "reqps",
      description: "The twenty pairs of a service and a reason that fail most.",
      query:
        "topk by (release) (20, sum by (release, service, reason) (rate(" +
        'meguri_calls_total{release=~"$release",reason!="OK"}[$__rate_interval])))',
      legend: "{{release}} {{service}} {{reason}}",
    },
    {
      title: "Duration",
      unit: "s",
      description: "99th percentile, by method. Streams last for minutes.",
      query: quantile(0.99, "release, method", "meguri_call_seconds"),
      legend: "{{release}} {{method}}",
    },
    {
      title: "Streams",
      unit: "short",
      description: "Open calls of methods with streams.",
      query: `sum by (release, method) (${of("meguri_streams")})`,
      legend: "{{release}} {{method}}",
    },
  ],
  Reservations: [
    {
      title: "Grants",
      unit: "reqps",
      description: "Reservations that were granted.",
      query: `sum by (release) (${rate("meguri_reservation_lateness_seconds_count")})`,
      legend: "{{release}} granted",
    },
    {
      title: "Lateness",
      unit: "s",
      description: "99th percentile, from the execute time or a later change to the grant.",
      query: quantile(0.99, "release", "meguri_reservation_lateness_seconds"),
      legend: "{{release}} p99",
    },
    {
      title: "Past due",
      unit: "short",
      description: "Grants that workers hold although their time is over.",
      query: `sum by (release) (${of("meguri_reservations_past_due")})`,
      legend: "{{release}} past due",
    },
    {
      title: "Overdue",
      unit: "short",
      description: "Found by the last sweep of a worker. No line: there was none.",
      query: `max by (release) (${of("meguri_reservations_overdue")})`,
      legend: "{{release}} overdue",
    },
    {
      title: "Paused",
      unit: "short",
      description: "Due reservations that wait because their program is paused.",
      query: `max by (release, program_id) (${of("meguri_reservations_paused")})`,
      legend: "{{release}} {{program_id}}",
    },
  ],
  "Month ends, bulk grants, reports and keys": [
    {
      title: "Month ends behind",
      unit: "short",
      description: "Months that have ended without a month end, by program.",
      query: `max by (release, program_id) (${of("meguri_month_end_months_behind")}) > 0`,
      legend: "{{release}} {{program_id}}",
    },
    {
      title: "Failed accounts",
      unit: "short",
      description: "Accounts that failed in the last month end, by program.",
      query: `max by (release, program_id) (${of("meguri_month_end_failed_accounts")}) > 0`,
      legend: "{{release}} {{program_id}}",
    },
    {
      title: "Bulk grants",
      unit: "short",
      description: "Bulk grants that have not ended, by state.",
      query: `max by (release, state) (${of("meguri_bulk_grants")})`,
      legend: "{{release}} {{state}}",
    },
    {
      title: "Rows",
      unit: "reqps",
      description: "Rows of bulk grants that workers have executed, by outcome.",
      query: `sum by (release, outcome) (${rate("meguri_bulk_rows_total")})`,
      legend: "{{release}} {{outcome}}",
    },
    {
      title: "Waiting for people",
      unit: "s",
      description: "Since the oldest one was submitted or proposed, by kind.",
      query: `max by (release, kind) (${of("meguri_waiting_for_people_oldest_seconds")})`,
      legend: "{{release}} {{kind}}",
    },
    {
      title: "Failures",
      unit: "short",
      description: "In the hour before, or since the start of a process, by kind and reason.",
      query:
        "sum by (release, kind, reason) (" +
        `${of("meguri_failures_total")} unless ${of("meguri_failures_total")} offset 1h ` +
        `or increase(${of("meguri_failures_total")}[1h]))`,
      legend: "{{release}} {{kind}} {{reason}}",
    },
    {
      title: "Failed runs",
      unit: "short",
      description: "Workflow runs that have failed in the hour before, by type.",
      query:
        "sum by (release, workflow_type) (" +
        `increase(${of("temporal_workflow_failed_total")}[1h]))`,
      legend: "{{release}} {{workflow_type}}",
    },
    {
      title: "Failed reports",
      unit: "short",
      description: "Reports to people that could not be sent in the hour before, by kind.",
      query: `sum by (release, kind) (increase(${of("meguri_reports_failed_total")}[1h]))`,
      legend: "{{release}} {{kind}}",
    },
    {
      title: "Schedules missing",
      unit: "short",
      description: "Programs and sources whose schedules could not be ensured.",
      query: `max by (release) (${of("meguri_schedules_not_ensured")})`,
      legend: "{{release}} missing",
    },
    {
      title: "Certificates end in",
      unit: "s",
      description: "Of each certificate that a process uses, the first that ends.",
      query:
        "min by (release, certificate) " +
        `(${of("meguri_certificate_end_timestamp_seconds")}) - time()`,
      legend: "{{release}} {{certificate}}",
    },
    {
      title: "Age of keys",
      unit: "s",
      description: "Since keys, the callers' file or the certificate were read.",
      query: `max by (release, keys) (${of("meguri_key_age_seconds")})`,
      legend: "{{release}} {{keys}}",
    },
  ],
  Events: [
    {
      title: "Behind",
      unit: "s",
      description: "For how long changes of a table have waited to be events.",
      query: `max by (release, table) (${of("meguri_events_behind_seconds")})`,
      legend: "{{release}} {{table}}",
    },
    {
      title: "Events",
      unit: "reqps",
      description: "Events that were written to the log, by table.",
      query: `sum by (release, table) (${rate("meguri_events_appended_total")})`,
      legend: "{{release}} {{table}}",
    },
    {
      title: "Writers",
      unit: "short",
      description: "Processes that write the log: one. At 0, nobody does.",
      query: `sum by (release) (${of("meguri_events_writing")})`,
      legend: "{{release}} writing",
    },
    {
      title: "Writer began anew",
      unit: "reqps",
      description: "The writer could not go on, and began anew behind the last batch of the log.",
      query: `sum by (release) (${rate("meguri_events_append_failures_total")})`,
      legend: "{{release}} anew",
    },
    {
      title: "Gaps and unreadable changes",
      unit: "short",
      description: "In the hour before, by table.",
      query:
        "sum by (release, table) " +
        `(increase(${of("meguri_events_gaps_total")}[1h]) + ` +
        `increase(${of("meguri_events_unreadable_total")}[1h]))`,
      legend: "{{release}} {{table}}",
    },
    {
      title: "Subscriptions behind",
      unit: "s",
      description: "For how long the oldest event of a subscription has waited.",
      query: `max by (release, subscription) (${of("meguri_subscription_behind_seconds")})`,
      legend: "{{release}} {{subscription}}",
    },
    {
      title: "Waiting events",
      unit: "short",
      description: "Events that are read from the log and not delivered, by subscription.",
      query: `sum by (release, subscription) (${of("meguri_subscription_waiting_events")})`,
      legend: "{{release}} {{subscription}}",
    },
    {
      title: "Deliveries",
      unit: "reqps",
      description: "Events that were delivered, by subscription.",
      query: `sum by (release, subscription) (${rate("meguri_subscription_events_total")})`,
      legend: "{{release}} {{subscription}}",
    },
    {
      title: "Failed deliveries",
      unit: "reqps",
      description: "Attempts to deliver that have failed, by subscription.",
      query: `sum by (release, subscription) (${rate("meguri_subscription_failures_total")})`,
      legend: "{{release}} {{subscription}}",
    },
    {
      title: "Paused subscriptions",
      unit: "short",
      description: "1 while a subscription is only tried from time to time.",
      query: `max by (release, subscription) (${of("meguri_subscription_paused")}) > 0`,
      legend: "{{release}} {{subscription}}",
    },
  ],
  Store: [
    {
      title: "Requests",
      unit: "reqps",
      description: "Attempts of requests to DynamoDB, by result.",
      query: `sum by (release, result) (${rate("meguri_store_requests_total")})`,
      legend: "{{release}} {{result}}",
    },
    {
      title: "Duration of requests",
      unit: "s",
      description: "99th percentile of these attempts.",
      query: quantile(0.99, "release, operation", "meguri_store_request_seconds"),
      legend: "{{release}} {{operation}}",
    },
    {
      title: "Capacity units",
      unit: "short",
      description: "Units a second, as DynamoDB reports them.",
      query: `sum by (release, table, kind) (${rate("meguri_store_units_total")})`,
      legend: "{{release}} {{table}} {{kind}}",
    },
    {
      title: "Commits",
      unit: "reqps",
      description: "Attempts to commit a transaction, by result.",
      query: `sum by (release, result) (${rate("meguri_commits_total")})`,
      legend: "{{release}} {{result}}",
    },
    {
      title: "Silence",
      unit: "s",
      description: "For how long requests have waited while DynamoDB answered none.",
      query: `max by (release, job) (${of("meguri_store_silence_seconds")})`,
      legend: "{{release}} {{job}}",
    },
    {
      title: "Throttled requests",
      unit: "reqps",
      description: "Each attempt, by table.",
      query: `sum by (release, table) (${rate("meguri_store_throttles_total")})`,
      legend: "{{release}} {{table}}",
    },
    {
      title: "Throttled targets",
      unit: "reqps",
      description: "The ten targets that are throttled most. One in ten attempts is sampled.",
      query:
        "topk by (release) (10, 10 * sum by (release, target_type, target_hash) " +
        `(${rate("meguri_target_throttle_samples_total")}))`,
      legend: "{{release}} {{target_type}} {{target_hash}}",
    },
    {
      title: "Throttled accounts",
      unit: "reqps",
      description: "The ten accounts that are throttled most. One in ten attempts is sampled.",
      query:
        "topk by (release) (10, 10 * sum by (release, account_hash) " +
        `(${rate("meguri_account_throttle_samples_total")}))`,
      legend: "{{release}} {{account_hash}}",
    },
  ],
  Temporal: [
    {
      title: "Free slots",
      unit: "short",
      description: "Of all workers. At 0, tasks wait.",
      query:
        "sum by (release, task_queue, worker_type) " +
        `(${of("temporal_worker_task_slots_available")})`,
      legend: "{{release}} {{task_queue}} {{worker_type}}",
    },
    {
      title: "Activities wait",
      unit: "s",
      description: "95th percentile, from the scheduling of an activity to its start.",
      query: quantile(
        0.95,
        "release, task_queue",
        "temporal_activity_schedule_to_start_latency_seconds",
      ),
      legend: "{{release}} {{task_queue}}",
    },
    {
      title: "Workflow tasks wait",
      unit: "s",
      description: "95th percentile, from the scheduling of a workflow task to its start.",
      query: quantile(
        0.95,
        "release, task_queue",
        "temporal_workflow_task_schedule_to_start_latency_seconds",
      ),
      legend: "{{release}} {{task_queue}}",
    },
  ],
};

/** Grafana has 24 columns, so four panels stand side by side. */
const panelSpan = 6;
const panelHeight = 7;

/** The dashboard as JSON, to be imported into Grafana, which asks for the data source. */
export function dashboardJson(): string {
  const builder = new DashboardBuilder("Meguri")
    .uid("meguri")
    .tags(["meguri"])
    .refresh("30s")
    .time({ from: "now-1h", to: "now" })
    .timezone("browser")
    .withVariable(
      new DatasourceVariableBuilder("datasource").label("Prometheus").type("prometheus"),
    )
    .withVariable(
      new QueryVariableBuilder("release")
        .label("Release")
        .datasource({ type: "prometheus", uid: "$datasource" })
        .query({ query: 'label_values(up{job=~"meguri-.+"}, release)', refId: "releases" })
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .multi(true)
        .includeAll(true)
        .allValue(".*"),
    );
  const links: readonly (readonly [string, string])[] = [
    ["Runbook", "https://docs.example/run/runbook.md"],
    ...Object.entries(lists).map(([title, query]) => [title, listUrl(query)] as const),
  ];
  for (const [title, url] of links) {
    builder.link(new DashboardLinkBuilder(title).type(DashboardLinkType.Link).url(url));
  }
  for (const [title, panels] of Object.entries(rows)) {
    builder.withRow(new RowBuilder(title));
    for (const panel of panels) builder.withPanel(panelOf(panel));
  }
  return `${JSON.stringify(builder.build(), null, 2)}\n`;
}

const panelOf = ({ title, unit, description, query, legend }: Panel): PanelBuilder =>
  new PanelBuilder()
    .title(title)
    .unit(unit)
    .description(description)
    .min(0)
    .legend(new VizLegendOptionsBuilder().showLegend(true))
    .span(panelSpan)
    .height(panelHeight)
    .datasource({ type: "prometheus", uid: "$datasource" })
    .withTarget(new DataqueryBuilder().expr(query).legendFormat(legend));
