/** The metrics of deliveries, by subscription. */
import { createCounter, createGauge } from "../../platform/ports/tallies.ts";

export function createSubscriptionMetrics() {
  const labels = ["subscription"] as const;
  return {
    behind: createGauge(
      "meguri_subscription_behind_seconds",
      "For how long the oldest event has waited that a subscription has not got.",
      labels,
    ),
    events: createCounter(
      "meguri_subscription_events_total",
      "Events that a subscription has got.",
      labels,
    ),
    failures: createCounter(
      "meguri_subscription_failures_total",
      "Attempts to deliver an event that have failed, or whose success is uncertain.",
      labels,
    ),
    gaps: createCounter(
      "meguri_subscription_gaps_total",
      "How often events were not kept long enough for a subscription to get them.",
      labels,
    ),
    waiting: createGauge(
      "meguri_subscription_waiting_events",
      "Events that were read for a subscription and are not delivered.",
      labels,
    ),
    paused: createGauge(
      "meguri_subscription_paused",
      "1 while a subscription is only tried from time to time, because its destination fails.",
      labels,
    ),
  };
}

export type SubscriptionMetrics = ReturnType<typeof createSubscriptionMetrics>;
