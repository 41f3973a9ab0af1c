/** Who makes a call whose change leaves an act. */
import type { Caller } from "./caller.ts";

/** The part of an act that follows from the call and not from the change. */
export interface Audit {
  readonly caller: Caller;
  /** TEMPORAL for an Update, a cancellation or a run there: nobody has verified the subject. */
  readonly via: "CALL" | "TEMPORAL";
  /** The name of the method, which only one service has. */
  readonly method: string;
  /** Names the call in the log of the server; by Temporal the activity of a run. */
  readonly requestId: string;
}
