/** Who changed something and why, and the argument of the Updates that change something. */
import type { Caller } from "../words/caller.ts";

/** A change that was made. */
export interface ChangeView {
  readonly caller: Caller;
  /** RFC 3339, in the zone of the program. */
  readonly time: string;
  /** Why. Empty when no reason was given. */
  readonly reason: string;
}

/** The person and the reason of a change by an Update. The caller's service is "temporal". */
export interface ChangeInput {
  /** The name of the operator, at most 64 bytes. It is not verified. */
  readonly subject?: string;
  /** At most 128 bytes. */
  readonly reason?: string;
}
