/** The workflow of a hold: its id and its steps. */

import type { ChangeView } from "../../platform/contract/changes.ts";
import type { Points } from "../../platform/words/units.ts";
import type { HoldState } from "../rules/hold.ts";

export const holdWorkflowId = (programId: string, holdId: string): string =>
  `hold/${programId}/${holdId}`;

/** Returns the hold of a workflow id; undefined for the id of another workflow. */
export function holdOf(workflowId: string): { programId: string; holdId: string } | undefined {
  const [, programId, holdId] = /^hold\/([^/]+)\/([^/]+)$/.exec(workflowId) ?? [];
  return programId && holdId ? { programId, holdId } : undefined;
}

/** A hold as its run shows it. All states but HELD end the run. */
export interface HoldStep {
  readonly state: HoldState;
  /** RFC 3339, in the zone of the program. */
  readonly until: string;
  readonly captured_points: Points;
  /** The points that were given back. 0 while the hold is HELD. */
  readonly released_points: Points;
  /** Who released it. Absent in other states. */
  readonly release?: ChangeView | undefined;
}
