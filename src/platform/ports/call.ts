/** The values that a call carries beside its request. */
import type { Audit } from "../words/audit.ts";
import type { Caller } from "../words/caller.ts";
import { DomainError } from "../words/errors.ts";

/** When a call has to end, whether it may change anything, and who is kept with the change. */
export interface CallLimits {
  /** The instant at which the caller stops waiting, in `performance.now()` milliseconds. */
  readonly deadline?: number | undefined;
  /** Returns the result that the change would have, and writes nothing. */
  readonly validateOnly?: boolean | undefined;
  /** Present for a method that is audited: its change writes an act. */
  readonly audit?: Audit | undefined;
}

/** The values that every call of a service carries beside its request. */
export interface Call extends CallLimits {
  readonly caller: Caller;
}

/** Throws DEADLINE once the deadline of a call has passed, before the next page is read for it. */
export function requireTime({ deadline = Number.POSITIVE_INFINITY }: CallLimits = {}): void {
  if (performance.now() < deadline) return;
  throw new DomainError("DEADLINE", "the deadline passed before everything was read");
}
