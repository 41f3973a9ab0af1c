/** The events of one subscription that were read and are not delivered, in the order of the log. */
import type { Instant } from "../../platform/words/month.ts";
import type { TimedPosition } from "../ports/log.ts";
import type { Event } from "../published/event.ts";

/** An event that is not delivered. */
export interface WaitingEvent {
  readonly event: Event;
  readonly position: TimedPosition;
  readonly failures: number;
}

interface Held extends WaitingEvent {
  failures: number;
  isSending: boolean;
  /** When it may be sent; 0 before its first failure. */
  dueAt: Instant;
}

/** How many events that have failed are sent at once while others wait. */
const maxRetried = 16;

export interface DeliveryWindow {
  /** Adds the event at a position, behind all that were added before. */
  add(event: Event, position: TimedPosition): void;
  /** Everything before this position has been added, or is not wanted. */
  advance(position: TimedPosition): void;
  /**
   * Takes up to `count` events to be sent: the first of each subject that has none under way. One
   * that has failed comes alone, so that a request which is refused for it has no other one. It
   * takes turns with those that have not, of which there may always be more.
   */
  take(count: number, now: Instant): readonly WaitingEvent[];
  delivered(event: WaitingEvent): void;
  /** The event may be sent again from `dueAt` on. Only its subject waits for it. */
  failed(event: WaitingEvent, dueAt: Instant): void;
  /** The position before which everything is delivered. */
  position(): TimedPosition;
  /** How many events wait or are being sent. */
  size(): number;
  /** When the next event may be sent; undefined when none waits. */
  nextDueAt(): Instant | undefined;
}

export function createDeliveryWindow(start: TimedPosition): DeliveryWindow {
  /** All of them, the oldest first. */
  const events = new Set<Held>();
  /** Those of each subject, of which only the first one is sent. */
  const subjects = new Map<string, Held[]>();
  let readTo = start;
  /** Whether the last events that were taken had failed. */
  let isRetry = false;

  const waitingFirsts = (): readonly Held[] =>
    [...subjects.values()].flatMap(([first]) => (first && !first.isSending ? [first] : []));

  const retriedCount = (): number =>
    [...subjects.values()].filter(([first]) => first?.isSending && first.failures > 0).length;

  return {
    add(event, position) {
      const held: Held = { event, position, failures: 0, isSending: false, dueAt: 0 };
      events.add(held);
      const others = subjects.get(event.subject);
      if (others) others.push(held);
      else subjects.set(event.subject, [held]);
    },
    advance(position) {
      readTo = position;
    },
    take(count, now) {
      if (count === 0) return [];
      const due = waitingFirsts().filter(({ dueAt }) => dueAt <= now);
      const fresh = due.filter(({ failures }) => failures === 0);
      const failed = due.filter(({ failures }) => failures > 0);
      failed.sort((one, other) => one.dueAt - other.dueAt);
      const isTurn = !isRetry && retriedCount() < maxRetried;
      isRetry = failed.length > 0 && (isTurn || fresh.length === 0);
      const taken = isRetry ? failed.slice(0, 1) : fresh.slice(0, count);
      for (const held of taken) held.isSending = true;
      return taken;
    },
    delivered(waiting) {
      const held = waiting as Held;
      events.delete(held);
      const { subject } = held.event;
      const others = subjects.get(subject)?.slice(1) ?? [];
      if (others.length > 0) subjects.set(subject, others);
      else subjects.delete(subject);
    },
    failed(waiting, dueAt) {
      const held = waiting as Held;
      held.failures += 1;
      held.isSending = false;
      held.dueAt = dueAt;
    },
    position() {
      const [oldest] = events;
      return oldest?.position ?? readTo;
    },
    size: () => events.size,
    nextDueAt() {
      const times = waitingFirsts().map(({ dueAt }) => dueAt);
      return times.length === 0 ? undefined : Math.min(...times);
    },
  };
}
