/** The sweep that starts all runs of reservations and holds after the loss of a namespace. */

import { nameOf, type RecordName } from "../../due/ports/due.ts";
import type { Hold } from "../../holds/rules/hold.ts";
import { failingSoon } from "../../platform/work/failing-soon.ts";
import { type SweepCounts, type SweepCursor, sweep } from "../../platform/work/sweep.ts";
import { storeOutages } from "../../platform/work/unconfirmed-failures.ts";
import { readAllPrograms } from "../../points/use-cases/programs/queries.ts";
import type { Deps } from "../ports/deps.ts";
import type { Reservation } from "../rules/reservation.ts";
import { recordPages, timeOf } from "./all-reservations.ts";
import { startRun } from "./workflow-runs.ts";

/** How many runs are started at once. */
const concurrency = 20;

/** When so many runs fail without a success in between, it is an outage. */
const outageAfter = 40;

/** The counts of a sweep that starts runs, or finds them running. */
export interface StartCounts extends SweepCounts<RecordName> {
  readonly started: number;
}

/** The cursor from which a sweep over reservations continues. */
export type ReservationsCursor = SweepCursor<RecordName>;

/** Temporal or the store is away: the sweep continues when they are back. */
const outages = new Set([...storeOutages, "WORKFLOWS_UNAVAILABLE" as const]);

/**
 * Starts a run for every pending reservation and every hold that has none, after the loss of a
 * namespace, from a cursor on until `shouldContinue` returns false. Writes their due hours as well,
 * which a table that was restored may not have.
 */
export function startAllRuns(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs" | "dueHours" | "workflows">,
  from: StartCounts & ReservationsCursor,
  shouldContinue: (progress: StartCounts & ReservationsCursor) => boolean,
  onFailed: (name: RecordName, error: unknown) => void,
): Promise<StartCounts & { readonly cursor?: string | undefined }> {
  const { cursor: _, done: __, ...counts } = from;
  const brief = failingSoon(deps);
  return sweep<Reservation | Hold, RecordName, void, StartCounts>(
    {
      read: recordPages(deps, {
        programs: () => readAllPrograms(deps),
        isWanted: () => true,
      }),
      async process(record) {
        await deps.dueHours.mark(record.programId, timeOf(record), undefined);
        await startRun(brief, record);
      },
      add: (total) => ({ ...total, started: total.started + 1 }),
      nameOf,
      keyOf: (record) => JSON.stringify(nameOf(record)),
      onFailed,
      concurrency,
      outages,
      outageAfter,
    },
    counts,
    from,
    shouldContinue,
  );
}
