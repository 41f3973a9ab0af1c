/** A client that plays the fault workload: it changes, extends and holds points. */
import {
  begun,
  longHoldMs,
  type Operation,
  type Outcome,
} from "../../../test/support/models/workload-operations.ts";
import { plan } from "../../../test/support/models/workload-plan.ts";
import type { Calls } from "../calls.ts";
import { change } from "./operations.ts";

/** So few that operations of one account meet. */
export const accounts = 24;

const chunk = 500;
const pauseMs = 300;

/** Sends operations until it shall stop. */
export async function changePoints(calls: Calls, name: string, outcomes: Outcome[]): Promise<void> {
  while (!calls.over.aborted) {
    for (const operation of operationsOf(calls, `${name}-${outcomes.length}`)) {
      if (calls.over.aborted) return;
      const tries = calls.random() < 0.5 ? 6 : 1;
      // No hold times out while what is stored is read at the end.
      await change(calls, outcomes, begun(operation, longHoldMs), tries);
      await calls.pause(pauseMs);
    }
  }
}

/** The next operations, with ids that begin with a prefix. */
function operationsOf({ random }: Calls, prefix: string): Operation[] {
  const idOf = (id: string) => (id === "nothing" ? id : `${prefix}-${id}`);
  return plan(Math.floor(random() * 2 ** 31), chunk, accounts).map((each) => ({
    ...each,
    id: idOf(each.id),
    reverses: idOf(each.reverses),
    ...(each.holdId && { holdId: idOf(each.holdId) }),
  }));
}
