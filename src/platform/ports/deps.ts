/** The dependencies of the platform, which the composition root fills. */

import type { Milliseconds } from "../words/units.ts";
import type { Clock } from "./clock.ts";
import type { Engine, ReadAhead } from "./engine.ts";
import type { RecordReader } from "./records.ts";
import type { StoreRefusal } from "./store-refusals.ts";
import type { Tallies } from "./tallies.ts";

/** The client side of Temporal. Its calls throw WORKFLOWS_UNAVAILABLE when it does not answer. */
export interface Workflows {
  /** Whether Temporal did not answer the last call. */
  isAway(): boolean;
}

/** Waits until a flow of changes, such as one sweep, may make so many: one if left out. */
export type Pace = (flow: string, changes?: number) => Promise<void>;

/** The dependencies of all use cases. A use case takes the ones that it uses. */
export interface Deps {
  readonly engine: Engine;
  readonly readAhead: ReadAhead;
  readonly clock: Clock;
  /** For how long requests of one operation have waited while none was answered, in ms. */
  readonly storeSilenceMs: () => number;
  /** The same with attempts that have just ended without an answer. */
  readonly storeUnansweredMs: () => Milliseconds;
  /** What the store has refused within the last minute and not served since. */
  readonly storeRefusals: () => readonly StoreRefusal[];
  readonly tallies: Tallies;
  /** The pace of the sweeps of this process, in which all have the same share. */
  readonly paceSweep: Pace;
  /** Runs a task after the caller has its answer. The task may run several times. */
  readonly background: (task: () => Promise<void>) => void;
  /** Reads outside the engine, strongly consistent unless documented to lag behind. */
  readonly reader: RecordReader;
  readonly workflows: Workflows;
}
