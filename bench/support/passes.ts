/** Passes over overdue reservations, as the reconciler makes them. */
import { executeOverdue } from "../../src/app/reservations/reconcile.ts";

const nothing = { overdue: 0, oldestMs: 0, granted: 0, refused: 0, failed: 0, failures: [] };

/** Executes all reservations that are overdue. Returns the counts. */
export function executeAllOverdue(deps: Parameters<typeof executeOverdue>[0]) {
  const observers = { onDone: () => {}, onFailed: () => {} };
  return executeOverdue(deps, nothing, () => true, observers);
}
