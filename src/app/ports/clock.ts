/** The clock and the two times at which decisions are made. */
import type { Instant } from "../../domain/month.ts";

/** The time of one decision. */
export interface Now {
  /** The time of the points calendar: months, expiry, ledger times. The test clock changes it. */
  readonly calendar: Instant;
  /** Real time, which Temporal's timers use and by which reservations are due. */
  readonly wall: Instant;
}

/** The clock of this process. Throws CLOCK_OFF when it differs too much from DynamoDB's clock. */
export interface Clock {
  now(): Promise<Now>;
}
