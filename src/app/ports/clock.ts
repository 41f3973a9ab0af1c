/** The two times that decisions are made at. */
import type { Instant } from "../../domain/month.ts";

/** The time of one decision. */
export interface Now {
  /** The points calendar: months, expiry, ledger times. The test clock moves it. */
  readonly calendar: Instant;
  /** Real time, which Temporal's timers follow: when reservations are due. */
  readonly wall: Instant;
}

/** The clock of this process. Throws CLOCK_OFF when it is off by more than DynamoDB's allows. */
export interface Clock {
  now(): Promise<Now>;
}
