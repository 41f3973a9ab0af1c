/** The latest known inbox of one owner, and when it has to be polled again. */

import { withJitter } from "../../platform/work/jitter.ts";
import type { Inbox } from "../rules/inbox.ts";

/**
 * The time between two polls of an active owner and of a quiet one. A poll is up to one tick later,
 * so they come about every second and every 5 s. Quiet owners take up to 400 read units an hour.
 */
const activePollMs = 900;
const quietPollMs = 4_800;

/** In between, the time to the next poll is this share of the time since the last activity. */
const idleShare = 0.1;

/**
 * The time between two polls of an owner whose announcements arrive: a net for those that are lost.
 * They take 30 read units an hour.
 */
const netPollMs = 60_000;

/** A poll that begins so long after a commit finds it, although it lags behind. */
const lagMs = 1_000;

/** The jitter of these times, so that servers do not poll in step. */
const pollJitter = 0.05;

/**
 * The inbox of one owner with open streams. Activity is a change of what the owner has unread, by
 * whichever process, or a stream whose client does not know the present state; without any, the
 * polls become rarer.
 */
export class InboxFeed {
  readonly ownerId: string;
  /** The listeners, called after each change. */
  readonly watchers = new Set<() => void>();
  /** The latest known one; undefined until one has been read or committed. */
  inbox: Inbox | undefined;
  readonly #readNow: (ownerId: string) => Promise<Inbox>;
  #activeAt = Number.NEGATIVE_INFINITY;
  #nextPollAt = Number.POSITIVE_INFINITY;
  /** Since when the announcements of this owner arrive; undefined while they do not. */
  #announcedSince: number | undefined;
  /** Whether a poll has read the inbox since the announcements began to arrive. */
  #isCaughtUp = false;
  #isLeftToPolls = false;

  /** `readNow` reads the inbox of an owner strongly consistently. */
  constructor(ownerId: string, readNow: (ownerId: string) => Promise<Inbox>) {
    this.ownerId = ownerId;
    this.#readNow = readNow;
  }

  /** Keeps a newer version, and notifies the streams; ignores an older one. */
  publish(inbox: Inbox): void {
    if (this.isBehind(inbox.version)) this.#set(inbox);
  }

  /** Whether this version is newer than the latest known one. */
  isBehind(version: number): boolean {
    return this.inbox === undefined || this.inbox.version < version;
  }

  /** Whether what is unread has changed at this version, as far as is known here, only earlier. */
  lacksChange(version: number): boolean {
    return this.inbox === undefined || this.inbox.changeVersion < version;
  }

  /**
   * Reads the inbox. A version that is older than the known one replaces it: the table was restored
   * from a backup. Throws what the reader throws.
   */
  async refresh(): Promise<void> {
    const known = this.inbox;
    const inbox = await this.#readNow(this.ownerId);
    const isRestored = known !== undefined && inbox.version < known.version;
    if (isRestored && this.inbox === known) this.#set(inbox);
    else this.publish(inbox);
  }

  #set(inbox: Inbox): void {
    const isChanged = this.inbox && this.inbox.changeVersion !== inbox.changeVersion;
    if (isChanged) this.activate();
    this.inbox = inbox;
    for (const notify of this.watchers) notify();
  }

  /** Announcements of this owner arrive from now on. The polls go on until one has caught up. */
  expectAnnouncements(): void {
    this.#announcedSince ??= performance.now();
  }

  /** Relies on polls again. */
  expectNoAnnouncements(): void {
    this.#announcedSince = undefined;
    if (!this.#isCaughtUp) return;
    this.#isCaughtUp = false;
    this.pollSometime();
  }

  /**
   * Polls after an announcement that could not be read, until a poll has caught up. Further ones
   * are not read before a poll has succeeded: a throttled inbox delays the inboxes that are read
   * by the same request.
   */
  leaveToPolls(): void {
    this.#isLeftToPolls = true;
    this.missAnnouncement();
    this.planRetry();
  }

  get isLeftToPolls(): boolean {
    return this.#isLeftToPolls;
  }

  /** Relies on polls for what was announced and is not read. */
  missAnnouncement(): void {
    if (this.#announcedSince !== undefined) this.#announcedSince = performance.now();
    this.#isCaughtUp = false;
  }

  /** Begins with frequent polls again, unless announcements make them needless. */
  activate(): void {
    this.#activeAt = performance.now();
    if (this.#isCaughtUp) return;
    this.#pollBefore(this.#activeAt + withJitter(activePollMs, pollJitter));
  }

  /** Polls within the time of a quiet owner, at random. */
  pollSometime(): void {
    this.#pollBefore(performance.now() + quietPollMs * Math.random());
  }

  #pollBefore(time: number): void {
    this.#nextPollAt = Math.min(this.#nextPollAt, time);
  }

  isDue(now: number): boolean {
    return now >= this.#nextPollAt;
  }

  /** Plans the next poll after one that has succeeded, and had begun at this time. */
  planPoll(begunAt: number): void {
    const now = performance.now();
    const since = this.#announcedSince;
    this.#isLeftToPolls = false;
    this.#isCaughtUp ||= since !== undefined && begunAt >= since + lagMs;
    const afterIdle = idleShare * (now - this.#activeAt);
    const polledMs = Math.min(Math.max(afterIdle, activePollMs), quietPollMs);
    const pollMs = this.#isCaughtUp ? netPollMs : polledMs;
    this.#nextPollAt = now + withJitter(pollMs, pollJitter);
  }

  /** Plans the next poll after a read that has failed. */
  planRetry(): void {
    this.#nextPollAt = performance.now() + withJitter(activePollMs, pollJitter);
  }
}
