/** The client side of Temporal with what only the processes that create it use. */
import type { Workflows } from "../hub/deps.ts";
import type { Link } from "../platform/temporal/connection.ts";

/** The port, with the link and the end of the connection for the processes that create it. */
export interface TemporalWorkflows extends Workflows {
  readonly link: Link;
  close(): Promise<void>;
}
