/** The latest known inbox of one owner, and when it has to be polled again. */
import type { Inbox } from "../../domain/inbox.ts";
import { withJitter } from "../jitter.ts";

/**
 * The time between two polls of an active owner and of a quiet one. A poll is up to one tick later,
 * so they come about every second and every 5 s. Quiet owners take up to 400 read units an hour.
 */
const activePollMs = 900;
const quietPollMs = 4_800;

/** In between, the time to the next poll is this share of the time since the last activity. */
const idleShare = 0.1;

/** The jitter of these times, so that servers do not poll in step. */
const pollJitter = 0.05;

/**
 * The inbox of one owner with open streams. Activity is an opened stream or a newer version, from
 * whichever process; without any, the polls become rarer.
 */
export class InboxFeed {
  readonly ownerId: string;
  /** What is called after each newer version. */
  readonly watchers = new Set<() => void>();
  inbox: Inbox | undefined;
  #activeAt = 0;
  #nextPollAt = Number.POSITIVE_INFINITY;

  constructor(ownerId: string) {
    this.ownerId = ownerId;
  }

  /** Notifies the streams of a newer version; ignores an older one. */
  publish(inbox: Inbox): void {
    if (this.inbox && inbox.version <= this.inbox.version) return;
    this.inbox = inbox;
    this.activate();
    for (const notify of this.watchers) notify();
  }

  /** Begins with frequent polls again. */
  activate(): void {
    this.#activeAt = performance.now();
    const nextPollAt = this.#activeAt + withJitter(activePollMs, pollJitter);
    this.#nextPollAt = Math.min(this.#nextPollAt, nextPollAt);
  }

  isDue(now: number): boolean {
    return now >= this.#nextPollAt;
  }

  /** Plans the next poll after one that has succeeded. */
  planPoll(now: number): void {
    const afterIdle = idleShare * (now - this.#activeAt);
    const pollMs = Math.min(Math.max(afterIdle, activePollMs), quietPollMs);
    this.#nextPollAt = now + withJitter(pollMs, pollJitter);
  }

  /** Plans the next poll after one that has failed. */
  planRetry(now: number): void {
    this.#nextPollAt = now + withJitter(activePollMs, pollJitter);
  }
}
