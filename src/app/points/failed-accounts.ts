/** Separates the failure of one account from an outage, in work on many accounts. */
import type { FailedAccount } from "../../contract.ts";
import { DomainError, type Reason } from "../../domain/errors.ts";

/** Logs an account that failed. */
export type OnFailed = (userId: string, error: unknown) => void;

/** Returns the account for the result of the work. Throws `error` again when it is an outage. */
export function failedAccount(userId: string, error: unknown, onFailed: OnFailed): FailedAccount {
  const reason = error instanceof DomainError ? error.reason : "INTERNAL";
  if (reason !== "INTERNAL" && outages.has(reason)) throw error;
  onFailed(userId, error);
  return { userId, reason };
}

/** These reasons concern all accounts: the whole work is retried until the outage is over. */
const outages: ReadonlySet<Reason> = new Set<Reason>(["STORE_UNAVAILABLE", "CLOCK_OFF"]);
