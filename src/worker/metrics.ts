/** The metrics of a worker, and the page that exposes them. */
import { Gauge, Histogram, Registry } from "prom-client";
import { latenessOf, type Reservation } from "../domain/reservation.ts";
import { createOperatorsListener, type OperatorsListener } from "../probes/listener.ts";
import { createMetricsPage } from "../probes/metrics.ts";

export interface Metrics {
  readonly registry: Registry;
  /** Counts the lateness of a granted reservation. Returns it in ms. */
  observe(reservation: Reservation): number;
  /**
   * Sets how many reservations a pass of the reconciler found overdue, and for how long the oldest
   * one had been due, in ms. Without another pass on this worker they are exported for 3 minutes.
   */
  observeOverdue(overdue: { readonly count: number; readonly oldestMs: number }): void;
}

/**
 * The reconciler passes every minute, on any of the workers. One that had no pass for longer drops
 * its numbers, because they may have changed since.
 */
const overdueKeptMs = 180_000;

export function createMetrics(registry = new Registry()): Metrics {
  const lateness = new Histogram({
    name: "meguri_reservation_lateness_seconds",
    help: "How long after execute_time, or a later last change, a reservation was granted.",
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200],
    registers: [registry],
  });
  let overdueAt = Number.NEGATIVE_INFINITY;
  const dropOld = function (this: Gauge) {
    if (performance.now() - overdueAt > overdueKeptMs) this.remove();
  };
  const overdueCount = new Gauge({
    name: "meguri_reservations_overdue",
    help: "How many reservations the last pass of the reconciler found overdue.",
    registers: [registry],
    collect: dropOld,
  });
  const oldestOverdue = new Gauge({
    name: "meguri_reservation_oldest_overdue_seconds",
    help: "For how long the oldest of them had been due; 0 when there was none.",
    registers: [registry],
    collect: dropOld,
  });
  return {
    registry,
    observe(reservation) {
      const latenessMs = latenessOf(reservation);
      lateness.observe(latenessMs / 1_000);
      return latenessMs;
    },
    observeOverdue({ count, oldestMs }) {
      overdueAt = performance.now();
      overdueCount.set(count);
      oldestOverdue.set(oldestMs / 1_000);
    },
  };
}

/** Serves `/metrics`, which has the metrics of the SDK as well, and `/livez`. */
export const createMetricsListener = (
  { registry }: Metrics,
  readSdkMetrics: () => Promise<string>,
): OperatorsListener =>
  createOperatorsListener({ "/metrics": createMetricsPage(registry, readSdkMetrics) });
