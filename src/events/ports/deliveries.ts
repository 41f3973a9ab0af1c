/** Deliveries of events: subscriptions, where their events go, and what is observed of them. */
import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { EventFilter } from "../published/filter.ts";
import type { withoutPersonal } from "../published/personal.ts";
import type { LogBatch, LogTail } from "./log.ts";

/** Which events a subscription gets, and in which form. */
export interface Subscription {
  readonly name: string;
  readonly filter: EventFilter;
  /** The texts of people that its events have. */
  readonly include: Parameters<typeof withoutPersonal>[1];
  /** Where a new subscription begins: with what happens from now on, or with the oldest event. */
  readonly start: "now" | "oldest";
}

/** An event in the form in which it is sent. */
export interface OutgoingEvent {
  /** Names the event by its source and id: 43 letters, digits, hyphens and underscores. */
  readonly messageId: string;
  readonly type: string;
  readonly subject: string;
  /** The JSON Event Format of CloudEvents 1.0. */
  readonly text: string;
  /** When this attempt began. */
  readonly sendTime: Instant;
}

/** Why an event was not delivered, or not certainly. */
export interface DeliveryFailure {
  /** As operators read it: the status or the code of an error, never a body. */
  readonly reason: string;
  /** How long the destination asks to be left alone. */
  readonly retryAfterMs?: Milliseconds | undefined;
  /** Whether the destination says that it is gone for good. */
  readonly isGone?: true | undefined;
}

/** Where the events of a subscription go. */
export interface Destination {
  /** How many events one call of `send` may have. */
  readonly maxEvents: number;
  /**
   * Sends events of different subjects. Returns undefined for each that has certainly arrived. What
   * it rejects with concerns all of them. Ends soon after the signal aborts.
   */
  send(
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
  ): Promise<readonly (DeliveryFailure | undefined)[]>;
  close(): void;
}

/** The log as all deliveries of a process read it together. */
export interface DeliveryLog {
  /** Waits until the log has begun. Undefined when the signal aborts before. */
  tail(signal: AbortSignal): Promise<LogTail | undefined>;
  /**
   * A batch: "end" when there was none of this number a moment ago, "expired" when it is not kept
   * any more. Waits while the store does not answer; "end" when the signal aborts.
   */
  next(number: number, signal: AbortSignal): Promise<LogBatch | "end" | "expired">;
  /** The number of the oldest batch that is kept. */
  oldest(): Promise<number>;
}

/** How a subscription is doing, as the process sees it that delivers its events. */
export interface SubscriptionStatus {
  /** For how long the oldest event has waited that is not delivered, in ms. */
  readonly behindMs: Milliseconds;
  /** The events that were read and are not delivered. */
  readonly waitingEvents: number;
  readonly pausedSince: Instant | undefined;
}

/** Counts and logs the deliveries of one subscription. */
export interface SubscriptionObserver {
  delivered(): void;
  /** The subscription goes on that was paused. */
  resumed(pausedSince: Instant): void;
  failed(eventId: string, failure: DeliveryFailure): void;
  /** The subscription is paused by a failure. */
  paused(eventId: string, failure: DeliveryFailure): void;
  /** Events were not kept long enough to be delivered. The event of this id says so. */
  missed(eventId: string): void;
  /** The position could not be stored, which is tried again. */
  notStored(error: unknown): void;
  show(status: SubscriptionStatus): void;
  /** Another process delivers the events now. */
  end(): void;
}
