/** Detects that other processes write the records of a queue, and pauses the queue for them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Milliseconds } from "../words/units.ts";

/** How long a key counts as contended after a conflict with another process. */
export const contendedMs = 3_000;

/** How often, one time after another, records are read that transactions keep writing. */
const maxReads = 8;

/**
 * After so many commits in this time, a process pauses: other processes, whose versions are always
 * old, would starve behind one that always knows the latest.
 */
const commitsInTurn = 32;
const turnMs = 1_200;

/** A longer commit counts as one of this time in the average. */
const longCommitMs = 200;

/** The values by which all queues of one engine measure their pauses. */
export interface Pace {
  /** In [0, 1). */
  readonly random: () => number;
  /** A moving average of the time that a commit takes, in ms: the unit of all pauses. */
  commitMs: Milliseconds;
}

export class Contention {
  readonly #pace: Pace;
  #conflictAt = Number.NEGATIVE_INFINITY;
  #turnAt = 0;
  #commits = 0;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Whether the last conflict with another process was a short while ago. */
  get isContended(): boolean {
    return this.#conflictAt > performance.now() - contendedMs;
  }

  /** Notes a conflict of a request that was sent at `sent`, by `performance.now()`. */
  conflicted(sent: number): void {
    this.#conflictAt = sent;
  }

  /** Notes a commit that was sent at `sent`. */
  committed(sent: number): void {
    const pace = this.#pace;
    pace.commitMs += (Math.min(performance.now() - sent, longCommitMs) - pace.commitMs) / 16;
  }

  /** A jitter that does not grow: a process that waits longer than other processes never wins. */
  async pause(): Promise<void> {
    await sleep(2 * this.#pace.commitMs * this.#pace.random());
  }

  /**
   * Waits after a commit. Leaves the next commits on a contended key to other processes, each of
   * which reads and commits: without this pause a call costs more than 1.5 times as many write
   * units. Pauses on any key after many commits in a short time.
   */
  async endTurn(): Promise<void> {
    const { commitMs, random } = this.#pace;
    if (this.isContended) {
      await sleep(commitMs * (3 + 4 * random()));
      return;
    }
    if (++this.#commits < commitsInTurn) return;
    const now = performance.now();
    const isBusy = now - this.#turnAt < turnMs;
    [this.#commits, this.#turnAt] = [0, now];
    if (isBusy) await sleep(3 * commitMs);
  }

  /**
   * Reads by `read` until it is not in conflict with a transaction; false when it always is. Gives
   * up after 8 tries, so that a busy process cannot starve this one.
   */
  async untilRead(read: () => Promise<boolean>): Promise<boolean> {
    for (let tries = 1; !(await read()); tries++) {
      if (tries === maxReads) return false;
      await this.pause();
    }
    return true;
  }
}
