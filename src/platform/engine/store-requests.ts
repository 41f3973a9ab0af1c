/** The requests of one queue to the store: their retries, its silence, and when calls give up. */
import { isSilent, maxSilenceMs } from "../ports/store-silence.ts";
import { DomainError } from "../words/errors.ts";
import type { Reason } from "../words/reasons.ts";
import type { Pending } from "./batch.ts";
import type { RetryBudget } from "./retry-budget.ts";

/** A request that fails within this time counts as answered: the next one shows more. */
const briefMs = 500;

/** How long a call waits for throttled records if it `failsSoon`: three or four requests. */
export const throttledMs = 150;

/** Why the store does not serve a request: it throttles a key, or it gives no answer. */
export type Trouble = Extract<Reason, "THROTTLED" | "STORE_UNAVAILABLE">;

/** The trouble behind an error of a read, if any. */
export function troubleOf(error: unknown): Trouble | undefined {
  if (!(error instanceof DomainError)) return undefined;
  const { reason } = error;
  return reason === "THROTTLED" || reason === "STORE_UNAVAILABLE" ? reason : undefined;
}

/** The error of a call that the store does not serve. */
export const notServed = (trouble: Trouble) => {
  const what =
    trouble === "THROTTLED" ? "the store throttles these records" : "the store gave no answer";
  return new DomainError(trouble, `${what}; the same call may safely be sent again`);
};

export class StoreRequests {
  readonly #budget: RetryBudget;
  /** Requests, one after another, that the store has throttled or not answered. */
  #retries = 0;
  /** Why the last request was not served, if it was not. */
  #trouble: Trouble | undefined;
  #inFlight = 0;
  /** When the first of the requests was sent that the store has not answered since. */
  #silentSince: number | undefined;

  constructor(budget: RetryBudget) {
    this.#budget = budget;
  }

  /** Waits for the result of a request. `isAnswer` decides whether the store has answered. */
  async watch<T>(request: Promise<T>, isAnswer: (result: T) => boolean = () => true): Promise<T> {
    const sent = performance.now();
    this.#silentSince ??= sent;
    this.#inFlight += 1;
    let isAnswered = false;
    try {
      const result = await request;
      isAnswered = isAnswer(result);
      return result;
    } catch (error) {
      isAnswered = troubleOf(error) === "THROTTLED";
      throw error;
    } finally {
      this.#inFlight -= 1;
      const now = performance.now();
      if (isAnswered || now < sent + briefMs) {
        this.#silentSince = this.#inFlight > 0 ? now : undefined;
      }
    }
  }

  /** Waits after a throttled or unanswered request, longer each time. */
  async backOff(trouble: Trouble): Promise<void> {
    this.#trouble = trouble;
    await this.#budget.wait(this.#retries++);
  }

  /** Notes that the store serves requests, though transactions may be in their way. */
  served(): void {
    this.#trouble = undefined;
  }

  /** Notes that a batch was read and committed, which ends the retries. */
  succeeded(): void {
    if (this.#retries > 0) this.#budget.succeeded();
    this.#retries = 0;
    this.#trouble = undefined;
  }

  /** Forgets the silence, when no call waits any longer. */
  end(): void {
    this.#silentSince = undefined;
  }

  /**
   * When a call stops waiting: at its limit, or earlier while the store is silent or, if the call
   * is to fail soon, throttles it.
   */
  endOf({ request, start, limit }: Pick<Pending, "request" | "start" | "limit">): number {
    if (request.failsSoon && this.#trouble === "THROTTLED") {
      return Math.min(limit, start + throttledMs);
    }
    if (this.#silentSince === undefined || request.call?.deadline === undefined) return limit;
    return Math.min(limit, Math.max(start, this.#silentSince) + maxSilenceMs);
  }

  /** The error of a call whose time is over. */
  tooLate({ request, start, limit, tried }: Pending): DomainError {
    const trouble = this.#reasonOf(start);
    if (trouble) return notServed(trouble);
    if (!tried && request.call?.deadline === limit) {
      return new DomainError("DEADLINE", "the deadline passed before the call could be served");
    }
    return new DomainError("CONTENDED", "other calls kept changing the same records; try again");
  }

  /** Why a call ends that has waited since `start`, if the store is the reason. */
  #reasonOf(start: number): Trouble | undefined {
    const now = performance.now();
    const isHung = isSilent(now - (this.#silentSince ?? now), now - start);
    return isHung ? "STORE_UNAVAILABLE" : this.#trouble;
  }
}
