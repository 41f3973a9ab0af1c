/** The values that a call carries beside its request. */
import type { Caller } from "../words/caller.ts";

/** When a call has to end, and whether it may change anything. */
export interface CallLimits {
  /** The instant at which the caller stops waiting, in `performance.now()` milliseconds. */
  readonly deadline?: number | undefined;
  /** Returns the result that the change would have, and writes nothing. */
  readonly validateOnly?: boolean | undefined;
}

/** The values that every call of a service carries beside its request. */
export interface Call extends CallLimits {
  readonly caller: Caller;
}
