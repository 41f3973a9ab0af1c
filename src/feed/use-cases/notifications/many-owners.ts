/** Does the same for many owners, each by a transaction of its own. */
import pLimit from "p-limit";
import { DomainError } from "../../../platform/words/errors.ts";

/** How many owners of one call are served at a time. */
const concurrency = 20;

/**
 * Calls `serve` for each owner and returns the results in this order. An owner whose call fails
 * does not stop the next one. If any has failed, throws a retryable error after all are done, or
 * else a refusal: the repeated call serves the owners that are left.
 */
export async function forEachOwner<T>(
  ownerIds: readonly string[],
  serve: (ownerId: string) => Promise<T>,
): Promise<T[]> {
  const limit = pLimit(concurrency);
  const calls = ownerIds.map((ownerId) => limit(() => serve(ownerId)));
  const errors = (await Promise.allSettled(calls)).flatMap((call) =>
    call.status === "rejected" ? [call.reason as unknown] : [],
  );
  if (errors.length > 0) throw errors.find(isRetryable) ?? errors[0];
  return Promise.all(calls);
}

const isRetryable = (error: unknown): boolean => error instanceof DomainError && error.retryable;
