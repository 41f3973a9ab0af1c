/** Counts and logs the deliveries of one subscription, without any body or secret. */
import type { Logger } from "../../platform/observe/log.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { SubscriptionObserver } from "../ports/deliveries.ts";
import type { SubscriptionMetrics } from "./subscription-metrics.ts";

/** A line of the log says at most so often that something has failed which is tried again. */
const logMs: Milliseconds = 10_000;

/** Returns a function that says whether the time for another line has come. */
function throttled(): () => boolean {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - loggedAt < logMs) return false;
    loggedAt = performance.now();
    return true;
  };
}

/** Its counters are there from the start; its gauges only in the process that delivers. */
export function observeSubscription(
  metrics: SubscriptionMetrics,
  logger: Logger,
  subscription: string,
): SubscriptionObserver {
  const labels = { subscription };
  const { behind, events, failures, gaps, waiting, paused } = metrics;
  const ofFailures = throttled();
  const ofPositions = throttled();
  for (const counter of [events, failures, gaps]) counter.inc(labels, 0);
  return {
    delivered: () => events.inc(labels),
    resumed(time) {
      const pausedSince = new Date(time).toISOString();
      logger.info({ subscription, pausedSince }, "the subscription goes on");
    },
    failed(eventId, { reason }) {
      failures.inc(labels);
      if (ofFailures())
        logger.warn({ subscription, eventId, reason }, "an event could not be delivered");
    },
    paused(eventId, { reason }) {
      const details = { subscription, eventId, reason };
      logger.error(details, "the subscription is paused; it is tried at times");
    },
    missed(eventId) {
      gaps.inc(labels);
      logger.error({ subscription, eventId }, "events are not kept any more");
    },
    notStored(error) {
      const details = { subscription, err: describeError(error) };
      if (ofPositions())
        logger.warn(details, "the position of the subscription could not be stored");
    },
    show({ behindMs, waitingEvents, pausedSince }) {
      behind.set(labels, behindMs / 1_000);
      waiting.set(labels, waitingEvents);
      paused.set(labels, pausedSince === undefined ? 0 : 1);
    },
    end() {
      for (const gauge of [behind, waiting, paused]) gauge.remove(labels);
    },
  };
}
