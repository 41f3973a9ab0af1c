/** When a destination that fails is tried again, and since when its subscription is paused. */

import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { retryDelay, withJitter } from "../../platform/work/jitter.ts";
import type { DeliveryFailure } from "../ports/deliveries.ts";
import type { SubscriptionState } from "../ports/records.ts";

export interface RetryTiming {
  /** The delay after the first failure of an event. Each further one is twice as long. */
  readonly firstMs: Milliseconds;
  /** The longest delay before a pause. */
  readonly longestMs: Milliseconds;
  /** A subscription is paused when its destination has failed for this long. */
  readonly pauseAfterMs: Milliseconds;
  /** The interval in which a paused one is tried. */
  readonly pausedMs: Milliseconds;
}

/** The events of one subscription that may be on their way at once. */
const maxSending = 64;

/** After so many failures without a success, one event at a time shows whether it works again. */
const maxFailures = 8;

type Failing = Pick<SubscriptionState, "failingSince" | "failure" | "pausedSince">;

export interface DeliveryHealth {
  /** What the state of the subscription says of it. */
  state(): Failing;
  /** How many events may be on their way at once. */
  maxSending(): number;
  /** Nothing is sent before. */
  resumeAt(): Instant;
  /** Returns what it was before, if it failed. */
  succeeded(): Failing | undefined;
  /** Returns whether the subscription is paused by this. */
  failed(failure: DeliveryFailure, now: Instant): boolean;
  /** How long an event waits after so many failures of its own. */
  delayMs(failures: number): Milliseconds;
}

/** Goes on from the state that is stored. A paused destination is tried at once. */
export function createDeliveryHealth(stored: Failing, timing: RetryTiming): DeliveryHealth {
  let failing = stored;
  let failures = stored.failingSince === undefined ? 0 : maxFailures;
  /** Groups of failures, of which each follows a pause. */
  let rounds = 0;
  let resumeAt: Instant = 0;

  function waitAfter(failure: DeliveryFailure, now: Instant): void {
    const isNewRound = failures >= maxFailures && now >= resumeAt;
    if (isNewRound) rounds += 1;
    const pausedMs = failing.pausedSince === undefined ? 0 : withJitter(timing.pausedMs, 0.1);
    const roundMs = isNewRound ? retryDelay(rounds, timing) : 0;
    const waitMs = Math.max(roundMs, pausedMs, failure.retryAfterMs ?? 0);
    resumeAt = Math.max(resumeAt, now + waitMs);
  }

  return {
    state: () => failing,
    maxSending: () => (failures < maxFailures ? maxSending : 1),
    resumeAt: () => resumeAt,
    delayMs: (count) => retryDelay(count, timing),
    succeeded() {
      const before = failing;
      [failures, rounds, resumeAt, failing] = [0, 0, 0, {}];
      return before.failingSince === undefined ? undefined : before;
    },
    failed(failure, now) {
      failures = failure.isGone ? maxFailures : failures + 1;
      const { failingSince = now, pausedSince } = failing;
      const isOver = now - failingSince >= timing.pauseAfterMs;
      const pauses = pausedSince === undefined && (isOver || failure.isGone === true);
      const paused = pauses ? now : pausedSince;
      failing = {
        failingSince,
        failure: failure.reason,
        ...(paused !== undefined && { pausedSince: paused }),
      };
      waitAfter(failure, now);
      return pauses;
    },
  };
}
