/** Sends the waiting events of one subscription, so many at once as its destination takes. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type {
  DeliveryFailure,
  Destination,
  OutgoingEvent,
  Subscription,
  SubscriptionObserver,
} from "../ports/deliveries.ts";
import { toCloudEvent } from "../published/cloud-event.ts";
import { messageIdOf } from "../published/message-id.ts";
import { withoutPersonal } from "../published/personal.ts";
import type { DeliveryHealth } from "./delivery-health.ts";
import type { DeliveryWindow, WaitingEvent } from "./delivery-window.ts";

/** So many events are read and not delivered. With more, the first ones have to arrive before. */
const maxWaiting = 500;

/** What sending needs to know of a subscription. */
export interface SendingDeps {
  readonly subscription: Subscription;
  readonly destination: Destination;
  readonly observer: SubscriptionObserver;
  /** The time of the store, by the corrected clock of this machine. */
  readonly now: () => Instant;
}

export interface Sending {
  /** Sends what is due. To be called when an event was added. */
  wake(): void;
  /** Waits until another event may be added, or the signal aborts. */
  room(): Promise<void>;
  /** Waits for the requests that are under way, and ends them after a while. */
  end(drainMs: Milliseconds): Promise<void>;
}

/** Sends until the signal aborts. */
export function startSending(
  deps: SendingDeps,
  window: DeliveryWindow,
  health: DeliveryHealth,
  signal: AbortSignal,
): Sending {
  const { destination, observer, now } = deps;
  const closing = new AbortController();
  const requests = new Set<Promise<void>>();
  let sentCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let freed = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    freed.resolve();
  });

  function wake(): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    const time = now();
    while (time >= health.resumeAt()) {
      const events = window.take(Math.min(destination.maxEvents, freeCount()), time);
      if (events.length === 0) break;
      const request = send(events).finally(() => requests.delete(request));
      requests.add(request);
    }
    const dueAt = window.nextDueAt();
    if (dueAt === undefined || freeCount() === 0) return;
    timer = setTimeout(wake, Math.max(1, Math.max(dueAt, health.resumeAt()) - now()));
  }

  const freeCount = (): number => Math.max(0, health.maxSending() - sentCount);

  async function send(events: readonly WaitingEvent[]): Promise<void> {
    sentCount += events.length;
    const outcomes = await attempt(events);
    sentCount -= events.length;
    for (const [i, event] of events.entries()) settle(event, outcomes[i]);
    if (window.size() < maxWaiting) {
      freed.resolve();
      freed = Promise.withResolvers();
    }
    wake();
  }

  async function attempt(
    events: readonly WaitingEvent[],
  ): Promise<readonly (DeliveryFailure | undefined)[]> {
    try {
      const outgoing = events.map(({ event }) => outgoingOf(deps, event));
      return await destination.send(outgoing, closing.signal);
    } catch (error) {
      return events.map(() => ({ reason: reasonOf(error) }));
    }
  }

  function settle(waiting: WaitingEvent, failure: DeliveryFailure | undefined): void {
    if (!failure) {
      window.delivered(waiting);
      observer.delivered();
      const before = health.succeeded();
      if (before?.pausedSince !== undefined) observer.resumed(before.pausedSince);
      return;
    }
    // A request that this process has ended says nothing of the destination.
    if (closing.signal.aborted) return;
    const { event, failures } = waiting;
    observer.failed(event.id, failure);
    if (health.failed(failure, now())) observer.paused(event.id, failure);
    window.failed(waiting, now() + health.delayMs(failures + 1));
  }

  return {
    wake,
    async room() {
      while (window.size() >= maxWaiting && !signal.aborted) await freed.promise;
    },
    async end(drainMs) {
      const drained = new AbortController();
      const all = Promise.all(requests).finally(() => drained.abort());
      await sleep(drainMs, undefined, { signal: drained.signal }).catch(() => {});
      closing.abort();
      await all;
    },
  };
}

function outgoingOf(
  { subscription, now }: SendingDeps,
  event: WaitingEvent["event"],
): OutgoingEvent {
  const { type, subject } = event;
  const published = withoutPersonal(event, subscription.include);
  const text = JSON.stringify(toCloudEvent(published));
  return { messageId: messageIdOf(event), type, subject, text, sendTime: now() };
}

/** The code of Node or TLS, or the name of an error. Its message may quote an event. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "no answer";
  // A timeout is a DOMException, whose code is a number.
  const { code } = error as { readonly code?: unknown };
  return `no answer: ${typeof code === "string" ? code : error.name}`;
}
