/** The figures of month ends and of changes of rules that a worker observes. */
import type { WaitingForPeople } from "../../platform/ports/waiting.ts";

/** The proposed changes of rules, of all programs. */
export type WaitingRules = WaitingForPeople;

/** How far the month ends of all programs are, by program. */
export interface MonthEndCensus {
  /** How many months have ended without a whole month end. */
  readonly behind: ReadonlyMap<string, number>;
  /** How many accounts have failed in the last one. */
  readonly failedAccounts: ReadonlyMap<string, number>;
}
