/** The figures of month ends that a worker observes. */

/** How far the month ends of all programs are, by program. */
export interface MonthEndCensus {
  /** How many months have ended without a whole month end. */
  readonly behind: ReadonlyMap<string, number>;
  /** How many accounts have failed in the last one. */
  readonly failedAccounts: ReadonlyMap<string, number>;
}
