/** Starts the workflow runs that pending reservations are missing. */
import type { ReconcileInput } from "../../contract.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages, inBatches, type Window } from "../ports/pages.ts";
import { refreshRun, startRun } from "./workflow-runs.ts";

/** Overdue for this long: the workflow is missing, or it missed a signal. */
const overdueMs = 60_000;

const pageSize = 200;

/** How many runs are started concurrently. */
const atOnce = 20;

/**
 * Starts a run for every pending reservation that is overdue. With `everything`, after the loss of
 * a Temporal namespace, starts one for every pending reservation. A running run continues. A run
 * that may sleep until an old, later time gets a signal to read its row again. Returns the number
 * of runs that were started or found running.
 */
export async function reconcileReservations(
  deps: Pick<Deps, "reader" | "clock" | "programs" | "workflows">,
  { everything }: ReconcileInput,
  progress: (started: number) => void,
): Promise<number> {
  const { reader, clock } = deps;
  const { wall } = await clock.now();
  const window: Window = { start: undefined, end: everything ? undefined : wall - overdueMs };
  let started = 0;
  for await (const programs of allPages(100, (page) => reader.programs(page))) {
    for (const { programId } of programs) {
      const pages = allPages(pageSize, (page) =>
        reader.reservationsInState(programId, "PENDING", window, page),
      );
      for await (const rows of pages) {
        for (const batch of inBatches(rows, atOnce)) {
          await Promise.all(
            batch.map((row) =>
              row.movedEarlier ? refreshRun(deps, row, true) : startRun(deps, row),
            ),
          );
          started += batch.length;
          progress(started);
        }
      }
    }
  }
  return started;
}
