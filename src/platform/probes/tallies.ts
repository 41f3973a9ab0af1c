/** The metrics of the store, the commit engine and the background tasks of a process. */
import type { Registry } from "prom-client";
import type { Tallies } from "../ports/tallies.ts";
import { exportCounter, exportCounts, exportGauge, exportHistogram } from "./export-tallies.ts";

export function exportTallies(registry: Registry, tallies: Tallies): void {
  const { store, commits } = tallies;
  exportCounts(
    registry,
    {
      name: "meguri_commits_total",
      help: "Attempts to commit a transaction, by result.",
    },
    commits.results,
  );
  exportHistogram(
    registry,
    { name: "meguri_commit_batch_calls", help: "The calls of each transaction that was sent." },
    "",
    () => new Map([["", commits.batchCalls]]),
  );
  exportGauge(
    registry,
    { name: "meguri_queued_calls", help: "Calls in the commit engine that have no answer yet." },
    () => commits.queuedCalls,
  );
  exportGauge(
    registry,
    { name: "meguri_retries_waiting", help: "Batches that wait to send a request again." },
    () => commits.retriesWaiting,
  );
  exportCounts(
    registry,
    {
      name: "meguri_store_requests_total",
      help: "Attempts of requests to DynamoDB, for each of their tables, by result.",
    },
    store.requests,
  );
  exportHistogram(
    registry,
    { name: "meguri_store_request_seconds", help: "Duration of attempts of requests to DynamoDB." },
    "operation",
    () => store.seconds.byName,
  );
  exportCounts(
    registry,
    {
      name: "meguri_store_units_total",
      help: "Capacity units that DynamoDB has reported, by table.",
    },
    store.units,
  );
  exportGauge(
    registry,
    {
      name: "meguri_clock_offset_seconds",
      help: "How far this clock is proven to be off DynamoDB's: positive when it is ahead.",
    },
    () => tallies.clockSkewMs() / 1_000,
  );
  exportCounter(
    registry,
    {
      name: "meguri_background_tasks_dropped_total",
      help: "Background tasks that were not done: too many waited, or all attempts have failed.",
    },
    tallies.droppedTasks,
  );
  exportCounts(
    registry,
    {
      name: "meguri_reports_failed_total",
      help: "Reports to people that were not sent, or whose arrival is uncertain.",
    },
    tallies.failedReports,
  );
}
