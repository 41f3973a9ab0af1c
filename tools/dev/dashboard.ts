/** Builds the dashboard for Grafana, deploy/grafana/meguri.json, out of a table of its panels. */
import { VizLegendOptionsBuilder } from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  RowBuilder,
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

/** The rows, and their panels from left to right. */
const rows: Readonly<Record<string, readonly Panel[]>> = {
  Processes: [
    {
      title: "Processes",
      unit: "short",
      description: "Servers and workers that answer the scrapes.",
      query: 'sum by (job) (up{job=~"meguri-.+"})',
      legend: "{{job}}",
    },
    {
      title: "Delay of the event loop",
      unit: "s",
      description: "99th percentile since the scrape before.",
      query: 'nodejs_eventloop_lag_p99_seconds{job=~"meguri-.+"}',
      legend: "{{job}} {{instance}}",
    },
    {
      title: "Memory",
      unit: "bytes",
      description: "What a process occupies.",
      query: 'process_resident_memory_bytes{job=~"meguri-.+"}',
      legend: "{{job}} {{instance}}",
    },
    {
      title: "CPU",
      unit: "percentunit",
      description: "A process uses little more than one core.",
      query: 'rate(process_cpu_seconds_total{job=~"meguri-.+"}[$__rate_interval])',
      legend: "{{job}} {{instance}}",
    },
  ],
  Calls: [
    {
      title: "Calls",
      unit: "reqps",
      description: "Calls that have ended, by their reason.",
      query: "sum by (reason) (rate(meguri_calls_total[$__rate_interval]))",
      legend: "{{reason}}",
    },
    {
      title: "Services",
      unit: "reqps",
      description: "The ten services that call most.",
      query: "topk(10, sum by (service) (rate(meguri_calls_total[$__rate_interval])))",
      legend: "{{service}}",
    },
    {
      title: "Duration",
      unit: "s",
      description: "99th percentile, by method. Streams last for minutes.",
      query:
        "histogram_quantile(0.99, sum by (method, le) " +
        "(rate(meguri_call_seconds_bucket[$__rate_interval])))",
      legend: "{{method}}",
    },
    {
      title: "Streams",
      unit: "short",
      description: "Open calls of methods with streams.",
      query: "sum by (method) (meguri_streams)",
      legend: "{{method}}",
    },
  ],
  Reservations: [
    {
      title: "Grants",
      unit: "reqps",
      description: "Reservations that were granted.",
      query: "sum(rate(meguri_reservation_lateness_seconds_count[$__rate_interval]))",
      legend: "granted",
    },
    {
      title: "Lateness",
      unit: "s",
      description: "99th percentile, from the execute time or a later change to the grant.",
      query:
        "histogram_quantile(0.99, sum by (le) " +
        "(rate(meguri_reservation_lateness_seconds_bucket[$__rate_interval])))",
      legend: "p99",
    },
    {
      title: "Past due",
      unit: "short",
      description: "Grants that workers hold although their time is over.",
      query: "sum(meguri_reservations_past_due)",
      legend: "past due",
    },
    {
      title: "Overdue",
      unit: "short",
      description: "Found by the last sweep of a worker. No line: there was none.",
      query: "max(meguri_reservations_overdue)",
      legend: "overdue",
    },
    {
      title: "Paused",
      unit: "short",
      description: "Due reservations that wait because their program is paused.",
      query: "max by (program_id) (meguri_reservations_paused)",
      legend: "{{program_id}}",
    },
  ],
  "Month ends, bulk grants, reports and keys": [
    {
      title: "Month ends behind",
      unit: "short",
      description: "Months that have ended without a month end, by program.",
      query: "max by (program_id) (meguri_month_end_months_behind) > 0",
      legend: "{{program_id}}",
    },
    {
      title: "Failed accounts",
      unit: "short",
      description: "Accounts that failed in the last month end, by program.",
      query: "max by (program_id) (meguri_month_end_failed_accounts) > 0",
      legend: "{{program_id}}",
    },
    {
      title: "Bulk grants",
      unit: "short",
      description: "Bulk grants that have not ended, by state.",
      query: "max by (state) (meguri_bulk_grants)",
      legend: "{{state}}",
    },
    {
      title: "Rows",
      unit: "reqps",
      description: "Rows of bulk grants that workers have executed, by outcome.",
      query: "sum by (outcome) (rate(meguri_bulk_rows_total[$__rate_interval]))",
      legend: "{{outcome}}",
    },
    {
      title: "Failed reports",
      unit: "short",
      description: "Reports to people that could not be sent in the hour before, by kind.",
      query: "sum by (kind) (increase(meguri_reports_failed_total[1h]))",
      legend: "{{kind}}",
    },
    {
      title: "Schedules missing",
      unit: "short",
      description: "Programs and sources whose schedules could not be ensured.",
      query: "max(meguri_schedules_not_ensured)",
      legend: "missing",
    },
    {
      title: "Age of keys",
      unit: "s",
      description: "Since keys, the callers' file or the certificate were read.",
      query: "max by (keys) (meguri_key_age_seconds)",
      legend: "{{keys}}",
    },
  ],
  Store: [
    {
      title: "Requests",
      unit: "reqps",
      description: "Attempts of requests to DynamoDB, by result.",
      query: "sum by (result) (rate(meguri_store_requests_total[$__rate_interval]))",
      legend: "{{result}}",
    },
    {
      title: "Duration of requests",
      unit: "s",
      description: "99th percentile of these attempts.",
      query:
        "histogram_quantile(0.99, sum by (operation, le) " +
        "(rate(meguri_store_request_seconds_bucket[$__rate_interval])))",
      legend: "{{operation}}",
    },
    {
      title: "Capacity units",
      unit: "short",
      description: "Units a second, as DynamoDB reports them.",
      query: "sum by (table, kind) (rate(meguri_store_units_total[$__rate_interval]))",
      legend: "{{table}} {{kind}}",
    },
    {
      title: "Commits",
      unit: "reqps",
      description: "Attempts to commit a transaction, by result.",
      query: "sum by (result) (rate(meguri_commits_total[$__rate_interval]))",
      legend: "{{result}}",
    },
    {
      title: "Silence",
      unit: "s",
      description: "For how long requests have waited while DynamoDB answered none.",
      query: "max by (job) (meguri_store_silence_seconds)",
      legend: "{{job}}",
    },
    {
      title: "Throttled requests",
      unit: "reqps",
      description: "Each attempt, by table.",
      query: "sum by (table) (rate(meguri_store_throttles_total[$__rate_interval]))",
      legend: "{{table}}",
    },
    {
      title: "Throttled targets",
      unit: "reqps",
      description: "The ten targets that are throttled most. One in ten attempts is sampled.",
      query:
        "topk(10, 10 * sum by (target_type, target_hash) " +
        "(rate(meguri_target_throttle_samples_total[$__rate_interval])))",
      legend: "{{target_type}} {{target_hash}}",
    },
  ],
  Temporal: [
    {
      title: "Free slots",
      unit: "short",
      description: "Of all workers. At 0, tasks wait.",
      query: "sum by (task_queue, worker_type) (temporal_worker_task_slots_available)",
      legend: "{{task_queue}} {{worker_type}}",
    },
    {
      title: "Activities wait",
      unit: "s",
      description: "95th percentile, from the scheduling of an activity to its start.",
      query:
        "histogram_quantile(0.95, sum by (task_queue, le) (rate(" +
        "temporal_activity_schedule_to_start_latency_seconds_bucket[$__rate_interval])))",
      legend: "{{task_queue}}",
    },
    {
      title: "Workflow tasks wait",
      unit: "s",
      description: "95th percentile, from the scheduling of a workflow task to its start.",
      query:
        "histogram_quantile(0.95, sum by (task_queue, le) (rate(" +
        "temporal_workflow_task_schedule_to_start_latency_seconds_bucket[$__rate_interval])))",
      legend: "{{task_queue}}",
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
    );
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
