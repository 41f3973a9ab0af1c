/** Notes since when the store has not answered the requests of one queue. */
import type { Pending } from "./batch.ts";

/** How long a call with a deadline waits for a store that does not answer (docs/decisions/0005). */
export const maxSilenceMs = 2_750;

/** At the end of a call, a silence of a quarter of its time is the reason, within these bounds. */
const leastOutageMs = 100;
const outageMs = 500;

export class StoreSilence {
  #inFlight = 0;
  /** When the first of the requests was sent that the store has not answered since. */
  #since: number | undefined;

  /**
   * Waits for the result of a request. `isAnswer` tells whether the store has answered. A request
   * that fails soon counts as answered: the next one shows whether the store is still away.
   */
  async during<T>(request: Promise<T>, isAnswer: (result: T) => boolean = () => true): Promise<T> {
    const sent = performance.now();
    this.#since ??= sent;
    this.#inFlight += 1;
    let isAnswered = false;
    try {
      const result = await request;
      isAnswered = isAnswer(result);
      return result;
    } finally {
      this.#inFlight -= 1;
      const now = performance.now();
      if (isAnswered || now < sent + outageMs) this.#since = this.#inFlight > 0 ? now : undefined;
    }
  }

  /** Forgets the silence, when no call waits any longer. */
  end(): void {
    this.#since = undefined;
  }

  /** When a call stops waiting: at its limit, or earlier while the store is silent. */
  endOf({ request, start, limit }: Pick<Pending, "request" | "start" | "limit">): number {
    if (this.#since === undefined || request.deadline === undefined) return limit;
    return Math.min(limit, Math.max(start, this.#since) + maxSilenceMs);
  }

  /** Whether a call that has waited since `start` has waited for the store in the end. */
  hasDelayed(start: number): boolean {
    const now = performance.now();
    const least = Math.min(outageMs, Math.max(leastOutageMs, (now - start) / 4));
    return this.#since !== undefined && this.#since <= now - least;
  }
}
