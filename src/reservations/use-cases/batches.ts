/** Processes the items of a batch concurrently, each with a result of its own. */
import pLimit from "p-limit";
import { DomainError } from "../../platform/words/errors.ts";
import type { Reason } from "../../platform/words/reasons.ts";

/** How many items of a batch are done at once: enough to keep the store busy. */
const concurrency = 20;

/** Why one item of a batch was refused or not served. */
export interface ItemError {
  /** INTERNAL when the server's log has the error. */
  readonly reason: Reason | "INTERNAL";
  readonly message: string;
  /** True when the same item may succeed later without any other change. */
  readonly retryable: boolean;
}

/** The result of one item of a batch. */
export type ItemResult<R> = { readonly done: R } | { readonly error: ItemError };

/** Logs an item that failed with an unexpected error. */
export type OnFailed = (reservationId: string, error: unknown) => void;

/** Processes every item; a failed one stops none. The results are in the order of the items. */
export function doEach<T extends { readonly reservationId: string }, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  onFailed: OnFailed,
): Promise<ItemResult<R>[]> {
  return pLimit(concurrency).map(items, async (item): Promise<ItemResult<R>> => {
    try {
      return { done: await work(item) };
    } catch (error) {
      if (!(error instanceof DomainError)) onFailed(item.reservationId, error);
      return { error: itemError(error) };
    }
  });
}

function itemError(error: unknown): ItemError {
  if (!(error instanceof DomainError)) {
    return { reason: "INTERNAL", message: "internal error", retryable: true };
  }
  const { reason, message, retryable } = error;
  return { reason, message, retryable };
}
