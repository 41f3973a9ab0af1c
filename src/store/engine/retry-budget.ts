/** Paces what one process sends again while the store throttles it or gives no answer. */

/** The first retry waits up to `baseMs`, each further one up to twice as long, at most `capMs`. */
const baseMs = 25;
const capMs = 1_000;

/** Retries that a process may send at once, and how soon another one is free. */
const capacity = 100;
const refillMs = 50;

/** How many waiting retries a retry that succeeded releases: so their number doubles each time. */
const releasedBySuccess = 2;

/**
 * Exponential backoff with full jitter, and a budget for all retries of a process, as the retry
 * quota of the AWS SDKs: a store that throttles everything is asked little more than once a call.
 * Other than there, a retry that finds the budget spent waits for it, because its caller does; and
 * the first retries that succeed release the others, so that the end of an outage is noticed soon.
 */
export class RetryBudget {
  readonly #random: () => number;
  readonly #sleepers = new Set<() => void>();
  #tokens = capacity;
  #refilledAt = performance.now();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Resolves when a retry may be sent that `retries` others have gone ahead of. */
  async wait(retries: number): Promise<void> {
    await this.#sleep(this.#random() * Math.min(capMs, baseMs * 2 ** retries));
    while (!this.#take()) await this.#sleep(refillMs);
  }

  /** Notes that a retry has been served. */
  succeeded(): void {
    this.#tokens = Math.min(capacity, this.#tokens + releasedBySuccess);
    for (const wake of [...this.#sleepers].slice(0, releasedBySuccess)) wake();
  }

  #take(): boolean {
    const refill = Math.floor((performance.now() - this.#refilledAt) / refillMs);
    this.#refilledAt += refill * refillMs;
    this.#tokens = Math.min(capacity, this.#tokens + refill);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#sleepers.add(wake);
    });
  }
}
