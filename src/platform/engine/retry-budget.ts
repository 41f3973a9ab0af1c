/** Limits the retries of one process while the store throttles it or does not answer. */
import type { CommitTallies } from "../ports/tallies.ts";
import type { Milliseconds } from "../words/units.ts";

/** The first retry waits up to `baseMs`, each further one up to twice as long, at most `capMs`. */
const baseMs = 25;
const capMs = 1_000;

/** How many tokens the bucket holds, and how often one is added. */
const capacity = 100;
const refillMs = 50;

/** How many waiting retries each successful retry releases: their number doubles each time. */
const releasedBySuccess = 2;

/**
 * Exponential backoff with full jitter, and a token bucket for all retries of a process, like the
 * retry quota of the AWS SDKs: while the store throttles everything, each call sends little more
 * than one request. Unlike the SDKs' quota, a retry waits for a token instead of failing, because
 * its caller waits, too; and a successful retry releases waiting ones, so that the queues recover
 * soon.
 */
export class RetryBudget {
  readonly #random: () => number;
  readonly #tallies: Pick<CommitTallies, "retriesWaiting">;
  readonly #sleepers = new Set<() => void>();
  #tokens = capacity;
  #refilledAt = performance.now();

  constructor(random: () => number, tallies: Pick<CommitTallies, "retriesWaiting">) {
    this.#random = random;
    this.#tallies = tallies;
  }

  /** Resolves when the next retry may be sent. `retries` is how many have been sent before it. */
  async wait(retries: number): Promise<void> {
    this.#tallies.retriesWaiting.inc();
    await this.#sleep(this.#random() * Math.min(capMs, baseMs * 2 ** retries));
    while (!this.#take()) await this.#sleep(refillMs);
    this.#tallies.retriesWaiting.dec();
  }

  /** Has to be called when a retry has succeeded. Adds tokens and releases waiting retries. */
  succeeded(): void {
    this.#tokens = Math.min(capacity, this.#tokens + releasedBySuccess);
    for (const release of [...this.#sleepers].slice(0, releasedBySuccess)) release();
  }

  #take(): boolean {
    const refill = Math.floor((performance.now() - this.#refilledAt) / refillMs);
    this.#refilledAt += refill * refillMs;
    this.#tokens = Math.min(capacity, this.#tokens + refill);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #sleep(ms: Milliseconds): Promise<void> {
    return new Promise((resolve) => {
      const release = () => {
        clearTimeout(timer);
        this.#sleepers.delete(release);
        resolve();
      };
      const timer = setTimeout(release, ms);
      this.#sleepers.add(release);
    });
  }
}
