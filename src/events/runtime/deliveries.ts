/** Delivers the events of all subscriptions, each by itself in the process that holds its lease. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../platform/observe/log.ts";
import type { Deps } from "../../platform/ports/deps.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { createLease } from "../../platform/work/lease.ts";
import type { Destination, Subscription } from "../ports/deliveries.ts";
import type { EventLogReader } from "../ports/log.ts";
import { type DeliveryTiming, deliverEvents, deliveryTiming } from "../use-cases/deliver-events.ts";
import { createProgress } from "../use-cases/subscription-progress.ts";
import { createDeliveryLog } from "./delivery-log.ts";
import { createEventTail } from "./event-tail.ts";
import { createReadingNotes } from "./log-readings.ts";
import type { SubscriptionMetrics } from "./subscription-metrics.ts";
import { observeSubscription } from "./subscription-observer.ts";

/** The delay after an error of the store. */
const retryMs: Milliseconds = 5_000;

interface DeliveryOptions {
  readonly deps: Pick<Deps, "engine" | "reader">;
  /** The subscriptions, and where their events go. */
  readonly subscribed: readonly {
    readonly subscription: Subscription;
    readonly destination: Destination;
  }[];
  readonly eventLog: EventLogReader;
  /** The id of the installation, which its events name. */
  readonly installation: string;
  readonly metrics: SubscriptionMetrics;
  readonly logger: Logger;
  /** The time of the store, by the corrected clock of this machine. */
  readonly now: () => Instant;
  readonly timing?: DeliveryTiming;
}

/**
 * Delivers until the signal aborts, and then closes the destinations. A subscription that fails or
 * hangs has requests, events in memory and a position of its own, so it holds up no other one.
 */
export async function deliverAll(options: DeliveryOptions, signal: AbortSignal): Promise<void> {
  const { deps, subscribed, eventLog, installation, metrics, logger, now } = options;
  const note = createReadingNotes(logger);
  const log = createDeliveryLog(createEventTail({ eventLog, note }), eventLog, note);

  async function deliverOne({ subscription, destination }: (typeof subscribed)[number]) {
    const { name } = subscription;
    const lease = createLease(deps, `events/${name}`, logger);
    let isHeld = false;
    const stopWaiting = () => void (isHeld || lease.close());
    signal.addEventListener("abort", stopWaiting);
    const work = {
      subscription,
      destination,
      log,
      installation,
      progress: createProgress(deps, name),
      observer: observeSubscription(metrics, logger, name),
      timing: options.timing ?? deliveryTiming,
      now,
    };
    while (!signal.aborted) {
      const lost = await lease.take();
      if (!lost) break;
      isHeld = true;
      const ending = AbortSignal.any([signal, lost]);
      while (!ending.aborted) {
        await deliverEvents(work, ending).catch((error) => {
          const details = { subscription: name, err: describeError(error) };
          logger.error(details, "deliveries have ended; beginning again");
        });
        await sleep(retryMs, undefined, { signal: ending }).catch(() => {});
      }
      isHeld = false;
    }
    await lease.close();
    destination.close();
  }

  await Promise.all(subscribed.map(deliverOne));
}
