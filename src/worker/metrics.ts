/** The metrics of a worker, and the page that exposes them. */
import { Counter, Histogram, Registry } from "prom-client";
import type { Observers } from "../hub/observers.ts";
import type { WaitingForPeople } from "../platform/ports/waiting.ts";
import {
  type Answer,
  createOperatorsListener,
  type OperatorsListener,
} from "../platform/probes/listener.ts";
import { createMetricsPage, exportGauge } from "../platform/probes/metrics.ts";
import type { OverdueFound } from "../reservations/ports/observers.ts";
import { latenessOf } from "../reservations/rules/reservation.ts";
import { createPassGauge } from "./pass-gauge.ts";
import { createPastDueGrants } from "./past-due.ts";

export interface Metrics {
  readonly registry: Registry;
  /** The observers by which the activities of the worker count and set metrics. */
  readonly observers: Observers;
  /** Sets what a sweep of the worker has found. */
  onOverdue(found: OverdueFound): void;
  /** Sets when the last sweep ended, which forgets grants; drops what a failed one has found. */
  onSwept(hasSucceeded: boolean): void;
}

export function createMetrics(registry = new Registry()): Metrics {
  const setWaiting = waitingMetrics(registry);
  const pastDue = createPastDueGrants();
  return {
    registry,
    observers: {
      pastDue,
      ...reservationMetrics(registry, pastDue),
      ...passMetrics(registry),
      ...monthEndMetrics(registry),
      ...bulkMetrics(registry, (waiting) => setWaiting("bulk_grant", waiting)),
      ...failureMetrics(registry),
      onWaitingRules: (waiting) => setWaiting("rule_change", waiting),
    },
    ...sweepMetrics(registry, pastDue),
  };
}

type PastDue = ReturnType<typeof createPastDueGrants>;

function reservationMetrics(
  registry: Registry,
  pastDue: Pick<PastDue, "read">,
): Pick<Observers, "onDone"> {
  const lateness = new Histogram({
    name: "meguri_reservation_lateness_seconds",
    help: "How long after execute_time, or a later last change, a reservation was granted.",
    labelNames: ["cause"],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200],
    registers: [registry],
  });
  for (const cause of ["due", "paused", "retried"]) lateness.zero({ cause });
  exportGauge(
    registry,
    "meguri_reservations_past_due",
    "How many grants this worker holds whose time is over, by its own memory.",
    () => pastDue.read().count,
  );
  exportGauge(
    registry,
    "meguri_reservation_oldest_past_due_seconds",
    "For how long the oldest of them has been due; 0 when there is none.",
    () => pastDue.read().oldestMs / 1_000,
  );
  return {
    onDone(reservation, cause) {
      if (cause) lateness.observe({ cause }, latenessOf(reservation) / 1_000);
    },
  };
}

function sweepMetrics(
  registry: Registry,
  pastDue: Pick<PastDue, "forgetEnded">,
): Pick<Metrics, "onOverdue" | "onSwept"> {
  const count = createPassGauge(
    registry,
    "meguri_reservations_overdue",
    "How many overdue reservations and holds the last sweep of this worker has found.",
  );
  const oldest = createPassGauge(
    registry,
    "meguri_reservation_oldest_overdue_seconds",
    "For how long the oldest of them had been due; 0 when there was none.",
  );
  const setLastSweep = createTimeGauge(
    registry,
    "meguri_last_sweep_timestamp_seconds",
    "When the last sweep of this worker over what is overdue ended, since 1970.",
  );
  return {
    onOverdue({ overdue, failed, oldestMs }) {
      count.set([["", overdue + failed]]);
      oldest.set([["", oldestMs / 1_000]]);
    },
    onSwept(hasSucceeded) {
      if (hasSucceeded) {
        setLastSweep();
        pastDue.forgetEnded();
        return;
      }
      count.set(undefined);
      oldest.set(undefined);
    },
  };
}

function passMetrics(registry: Registry): Pick<Observers, "onPass" | "onPaused"> {
  const setLastPass = createTimeGauge(
    registry,
    "meguri_reconciler_last_pass_timestamp_seconds",
    "When the last pass of the reconciler on this worker ended, since 1970.",
  );
  const paused = createPassGauge(
    registry,
    "meguri_reservations_paused",
    "How many due reservations wait because their program is paused.",
    "program_id",
  );
  return {
    onPass: setLastPass,
    onPaused: (counts) => paused.set(counts),
  };
}

/** Creates a gauge of when something happened last. Returns how it is set to now. */
function createTimeGauge(registry: Registry, name: string, help: string): () => void {
  let time: number | undefined;
  exportGauge(registry, name, help, () => time);
  return () => {
    time = Date.now() / 1_000;
  };
}

function monthEndMetrics(registry: Registry): Pick<Observers, "onMonthEnds"> {
  const behind = createPassGauge(
    registry,
    "meguri_month_end_months_behind",
    "How many months have ended in a program without a whole month end.",
    "program_id",
  );
  const failedAccounts = createPassGauge(
    registry,
    "meguri_month_end_failed_accounts",
    "How many accounts have failed in the last whole month end of a program.",
    "program_id",
  );
  return {
    onMonthEnds(census) {
      behind.set(census?.behind);
      failedAccounts.set(census?.failedAccounts);
    },
  };
}

/** Has one gauge for all kinds, each of which is read apart, and vanishes when it cannot be. */
function waitingMetrics(registry: Registry): (kind: string, waiting?: WaitingForPeople) => void {
  const count = createPassGauge(
    registry,
    "meguri_waiting_for_people",
    "What waits for a decision of people, by kind.",
    "kind",
  );
  const oldest = createPassGauge(
    registry,
    "meguri_waiting_for_people_oldest_seconds",
    "For how long the oldest of them has waited; 0 when none does.",
    "kind",
  );
  const found = new Map<string, WaitingForPeople>();
  return (kind, waiting) => {
    if (waiting) found.set(kind, waiting);
    else found.delete(kind);
    count.set([...found].map(([kind, { count }]) => [kind, count]));
    oldest.set([...found].map(([kind, { oldestMs }]) => [kind, oldestMs / 1_000]));
  };
}

function failureMetrics(registry: Registry): Pick<Observers, "onFailed"> {
  const failures = new Counter({
    name: "meguri_failures_total",
    help: "Work that has failed for good, or has left something undone for people.",
    labelNames: ["kind", "reason"],
    registers: [registry],
  });
  return { onFailed: (kind, reason) => failures.inc({ kind, reason }) };
}

function bulkMetrics(
  registry: Registry,
  setWaiting: (waiting: WaitingForPeople | undefined) => void,
): Pick<Observers, "onBulkGrants" | "onBlock"> {
  const bulkGrants = createPassGauge(
    registry,
    "meguri_bulk_grants",
    "Bulk grants that have not ended, by state.",
    "state",
  );
  const rows = new Counter({
    name: "meguri_bulk_rows_total",
    help: "Rows of bulk grants that this worker has executed, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of ["granted", "failed"]) rows.inc({ outcome }, 0);
  return {
    onBulkGrants(census) {
      bulkGrants.set(census?.byState);
      setWaiting(census?.waiting);
    },
    onBlock({ grantedCount, failures }) {
      rows.inc({ outcome: "granted" }, grantedCount);
      rows.inc({ outcome: "failed" }, failures.length);
    },
  };
}

/** Serves `/metrics`, which has the metrics of the SDK as well, `/readyz` and `/livez`. */
export const createMetricsListener = (
  { registry }: Metrics,
  readSdkMetrics: () => Promise<string>,
  readyz: () => Promise<Answer>,
): OperatorsListener =>
  createOperatorsListener({
    "/readyz": readyz,
    "/metrics": createMetricsPage(registry, readSdkMetrics),
  });
