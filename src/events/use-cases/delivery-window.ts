/** The events of one subscription that were read and are not delivered, in the order of the log. */
import type { Instant } from "../../platform/words/month.ts";
import type { Event } from "../published/event.ts";

/** A place in the log: a batch, and the index of an event in it. */
export interface LogPlace {
  readonly logId: string;
  readonly number: number;
  readonly index: number;
  /** When the batch was appended, or the one before; absent when that is not known. */
  readonly time?: Instant | undefined;
}

/** An event that is not delivered. */
export interface WaitingEvent {
  readonly event: Event;
  readonly place: LogPlace;
  readonly failures: number;
}

interface Held extends WaitingEvent {
  failures: number;
  isSending: boolean;
  /** When it may be sent; 0 before its first failure. */
  dueAt: Instant;
}

export interface DeliveryWindow {
  /** Adds the event at a place, behind all that were added before. */
  add(event: Event, place: LogPlace): void;
  /** Everything before this place has been added, or is not wanted. */
  advance(place: LogPlace): void;
  /** Takes up to `count` events to be sent: the first of each subject that has none under way. */
  take(count: number, now: Instant): readonly WaitingEvent[];
  delivered(event: WaitingEvent): void;
  /** The event may be sent again from `dueAt` on. Only its subject waits for it. */
  failed(event: WaitingEvent, dueAt: Instant): void;
  /** The place before which everything is delivered. */
  place(): LogPlace;
  /** How many events wait or are being sent. */
  size(): number;
  /** When the next event may be sent; undefined when none waits. */
  nextDueAt(): Instant | undefined;
}

export function createDeliveryWindow(start: LogPlace): DeliveryWindow {
  /** All of them, the oldest first. */
  const events = new Set<Held>();
  /** Those of each subject, of which only the first one is sent. */
  const subjects = new Map<string, Held[]>();
  let readTo = start;

  const waitingFirsts = (): readonly Held[] =>
    [...subjects.values()].flatMap(([first]) => (first && !first.isSending ? [first] : []));

  return {
    add(event, place) {
      const held: Held = { event, place, failures: 0, isSending: false, dueAt: 0 };
      events.add(held);
      const others = subjects.get(event.subject);
      if (others) others.push(held);
      else subjects.set(event.subject, [held]);
    },
    advance(place) {
      readTo = place;
    },
    take(count, now) {
      const due = waitingFirsts().filter(({ dueAt }) => dueAt <= now);
      const taken = due.sort((one, other) => one.dueAt - other.dueAt).slice(0, count);
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
    place() {
      const [oldest] = events;
      return oldest?.place ?? readTo;
    },
    size: () => events.size,
    nextDueAt() {
      const times = waitingFirsts().map(({ dueAt }) => dueAt);
      return times.length === 0 ? undefined : Math.min(...times);
    },
  };
}
