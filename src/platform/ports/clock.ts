/** The clock and the two times at which decisions are made. */
import type { Instant } from "../words/month.ts";

/** The time of one decision. */
export interface Now {
  /** The time of the points calendar: months, expiry, ledger times. The test clock changes it. */
  readonly calendar: Instant;
  /** Real time by the store's clock, which all processes share. Reservations are due by it. */
  readonly wall: Instant;
}

/** The clock of this process. Throws CLOCK_OFF when it differs too much from DynamoDB's clock. */
export interface Clock {
  now(): Promise<Now>;
}

/** How far this machine's clock is off the store's, as far as the store's answers show it. */
export interface ClockSkew {
  /** The least proven difference in ms: positive when this clock is ahead, 0 without a proof. */
  skewMs(): number;
  /** The ms to add to this clock, so that it is not ahead of the store's (docs/decisions/0016). */
  offsetMs(): number;
}
