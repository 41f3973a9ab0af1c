/** Who changed something and why. */
import type { Caller } from "../words/caller.ts";

/** A change that was made. */
export interface ChangeView {
  readonly caller: Caller;
  /** RFC 3339, in the zone of the program. */
  readonly time: string;
  /** Why. Empty when no reason was given. */
  readonly reason: string;
}
