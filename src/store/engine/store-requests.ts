/** The requests of one queue to the store: its silence, the retries, and ambiguous results. */
import { randomUUID } from "node:crypto";
import { isSilent, maxSilenceMs } from "../../app/ports/store-silence.ts";
import type { Pending } from "./batch.ts";
import type { CommitResult } from "./item-store.ts";
import type { RetryBudget } from "./retry-budget.ts";

/** A request that fails within this time counts as answered: the next one shows more. */
const briefMs = 500;

export class StoreRequests {
  readonly #budget: RetryBudget;
  /** Requests, one after another, that the store has throttled or not answered. */
  #retries = 0;
  /** Whether the last request was one of these. */
  #isUnavailable = false;
  #inFlight = 0;
  /** When the first of the requests was sent that the store has not answered since. */
  #silentSince: number | undefined;

  constructor(budget: RetryBudget) {
    this.#budget = budget;
  }

  /** Waits for the result of a request. `isAnswer` tells whether the store has answered. */
  async watch<T>(request: Promise<T>, isAnswer: (result: T) => boolean = () => true): Promise<T> {
    const sent = performance.now();
    this.#silentSince ??= sent;
    this.#inFlight += 1;
    let isAnswered = false;
    try {
      const result = await request;
      isAnswered = isAnswer(result);
      return result;
    } finally {
      this.#inFlight -= 1;
      const now = performance.now();
      if (isAnswered || now < sent + briefMs) {
        this.#silentSince = this.#inFlight > 0 ? now : undefined;
      }
    }
  }

  /**
   * Sends the identical transaction under one token, by `commit`, until the result is definite or
   * no caller waits any longer. After an ambiguous result, a conflict or a throttled request says
   * nothing about the request before it.
   */
  async commit(
    commit: (token: string) => Promise<CommitResult>,
    isAwaited: () => boolean,
  ): Promise<CommitResult> {
    const token = randomUUID();
    let isAmbiguous = false;
    for (;;) {
      const result = await this.watch(commit(token), ({ kind }) => kind !== "unknown");
      isAmbiguous ||= result.kind === "unknown";
      if (!isAmbiguous || result.kind === "committed" || result.kind === "failed") return result;
      await this.backOff();
      if (!isAwaited()) return { kind: "unknown" };
    }
  }

  /** Waits after a throttled or unanswered request, longer each time. */
  async backOff(): Promise<void> {
    this.#isUnavailable = true;
    await this.#budget.wait(this.#retries++);
  }

  /** Notes that the store serves requests, though transactions may be in their way. */
  served(): void {
    this.#isUnavailable = false;
  }

  /** Notes that a batch was read and committed, which ends the retries. */
  succeeded(): void {
    if (this.#retries > 0) this.#budget.succeeded();
    this.#retries = 0;
    this.#isUnavailable = false;
  }

  /** Forgets the silence, when no call waits any longer. */
  end(): void {
    this.#silentSince = undefined;
  }

  /** When a call stops waiting: at its limit, or earlier while the store is silent. */
  endOf({ request, start, limit }: Pick<Pending, "request" | "start" | "limit">): number {
    if (this.#silentSince === undefined || request.deadline === undefined) return limit;
    return Math.min(limit, Math.max(start, this.#silentSince) + maxSilenceMs);
  }

  /** Whether the store is the reason why a call ends that has waited since `start`. */
  areReason(start: number): boolean {
    const now = performance.now();
    return this.#isUnavailable || isSilent(now - (this.#silentSince ?? now), now - start);
  }
}
