/** The dependencies of holds: the ports that the composition root fills. */

import type * as due from "../../due/ports/deps.ts";
import type { Instant } from "../../platform/words/month.ts";
import type * as points from "../../points/ports/deps.ts";
import type { Hold } from "../rules/hold.ts";
import type { HoldReader } from "./holds.ts";

export interface Reader extends due.Reader, HoldReader {}

export interface Workflows extends points.Workflows {
  /**
   * Starts a hold's run, which begins at the end of the hold, unless one is running, or has
   * completed of a hold that has ended. `timeZone` is for its summary.
   */
  startHold(hold: Hold, timeZone: string, now: Instant): Promise<void>;
  /** Signals a hold's run to read its record again. Starts one if there was none. */
  refreshHold(hold: Hold, timeZone: string): Promise<void>;
}

export interface Deps extends due.Deps {
  readonly reader: Reader;
  readonly workflows: Workflows;
}
