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
  /** What is called after each change. */
  readonly watchers = new Set<() => void>();
  /** The latest known one; undefined until one has been read or committed. */
  inbox: Inbox | undefined;
  readonly #readNow: (ownerId: string) => Promise<Inbox>;
  #activeAt = 0;
  #nextPollAt = Number.POSITIVE_INFINITY;

  /** `readNow` reads the inbox of an owner strongly consistently. */
  constructor(ownerId: string, readNow: (ownerId: string) => Promise<Inbox>) {
    this.ownerId = ownerId;
    this.#readNow = readNow;
  }

  /** Notifies the streams of a newer version; ignores an older one. */
  publish(inbox: Inbox): void {
    if (this.isBehind(inbox.version)) this.#set(inbox);
  }

  /** Whether this version is newer than the latest known one. */
  isBehind(version: number): boolean {
    return this.inbox === undefined || this.inbox.version < version;
  }

  /**
   * Reads the inbox. A version that is older than the one that was known before is believed: the
   * table was restored from a backup. Throws what the reader throws.
   */
  async refresh(): Promise<void> {
    const known = this.inbox;
    const inbox = await this.#readNow(this.ownerId);
    const isRestored = known !== undefined && inbox.version < known.version;
    if (isRestored && this.inbox === known) this.#set(inbox);
    else this.publish(inbox);
  }

  #set(inbox: Inbox): void {
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
