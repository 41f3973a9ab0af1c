/** What becomes of one account that fails in work on many. */
import type { FailedAccount } from "../../contract.ts";
import { DomainError, type Reason } from "../../domain/errors.ts";

/** Hears of each account that failed, for the log. */
export type OnFailed = (userId: string, error: unknown) => void;

/** Not the fault of one account: the whole work waits until they have passed. */
const outages: ReadonlySet<Reason> = new Set<Reason>(["STORE_UNAVAILABLE", "CLOCK_OFF"]);

/** The account as a result names it. Throws `error` again when it is an outage. */
export function failedAccount(userId: string, error: unknown, onFailed: OnFailed): FailedAccount {
  const reason = error instanceof DomainError ? error.reason : "INTERNAL";
  if (reason !== "INTERNAL" && outages.has(reason)) throw error;
  onFailed(userId, error);
  return { userId, reason };
}
