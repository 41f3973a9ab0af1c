import type { ReconcileInput } from "../../contract.ts";
import type { Deps } from "../ports/deps.ts";
import type { Window } from "../ports/pages.ts";
import { refreshRun, startRun } from "./workflow-runs.ts";

/** A reservation that is overdue by more than this has lost its run, or its run the news. */
const overdueMs = 60_000;

const pageSize = 200;

/** Runs that are started side by side. */
const atOnce = 20;

/**
 * Starts a run for every pending reservation that is overdue, or with `everything` for every one
 * that waits, as after the loss of a Temporal namespace. A run that is there already stays; one
 * that may not know of an earlier time is woken.
 */
export async function reconcileReservations(
  deps: Deps,
  { everything }: ReconcileInput,
  progress: (started: number) => void,
): Promise<number> {
  const { wall } = await deps.clock.now();
  const window: Window = { start: undefined, end: everything ? undefined : wall - overdueMs };
  let started = 0;
  for await (const programId of allPrograms(deps)) {
    let cursor: string | undefined;
    do {
      const rows = await deps.reader.reservationsInState(programId, "PENDING", window, {
        size: pageSize,
        cursor,
      });
      for (let i = 0; i < rows.items.length; i += atOnce) {
        const some = rows.items.slice(i, i + atOnce);
        await Promise.all(
          some.map((row) => (row.movedEarlier ? refreshRun(deps, row, true) : startRun(deps, row))),
        );
        started += some.length;
        progress(started);
      }
      cursor = rows.cursor;
    } while (cursor !== undefined);
  }
  return started;
}

async function* allPrograms(deps: Deps): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const page = await deps.reader.programs({ size: 100, cursor });
    for (const { programId } of page.items) yield programId;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
