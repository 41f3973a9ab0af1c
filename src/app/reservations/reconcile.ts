/**
 * The use cases of the reconciler: whatever state its run is in, a reservation is granted and a
 * hold is released at its time.
 */
import pLimit from "p-limit";
import type { Hold } from "../../domain/hold.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { timeOutHold } from "../holds/time-out.ts";
import type { NotifyDeps } from "../notifications/notify.ts";
import type { Deps } from "../ports/deps.ts";
import type { OnDone } from "../ports/observers.ts";
import type { RecordName } from "../ports/reservations.ts";
import { readAllPrograms } from "../programs/queries.ts";
import { failingSoon } from "../shared/failing-soon.ts";
import { storeOutages } from "../shared/suspects.ts";
import { type SweepCounts, type SweepPlace, sweep } from "../shared/sweep.ts";
import {
  divideIntoLanes,
  nameOf,
  type RecordLane,
  recordPages,
  type Selection,
} from "./all-reservations.ts";
import { duePrograms } from "./due-programs.ts";
import { executeReservation } from "./execute.ts";
import { notifyGranted } from "./notify-granted.ts";
import { startRun } from "./workflow-runs.ts";

/** How long after its time the reconciler executes a reservation and releases a hold. */
const overdueMs = 15_000;

/** How many reservations of a lane are processed concurrently. */
const concurrency = 20;

/** So many in all lanes of this process, which also grants the reservations that are due. */
const inTurn = pLimit(64);

/** When so many accounts or runs fail without a success in between, it is an outage. */
const outageAfter = 40;

/** The counts of a sweep over overdue reservations and holds. */
export interface OverdueCounts extends SweepCounts<RecordName> {
  readonly overdue: number;
  /** How long the oldest one is overdue. */
  readonly oldestMs: Milliseconds;
  readonly granted: number;
  /** The number of reservations that are FAILED now. */
  readonly refused: number;
  /** The number of holds that were released. Absent when there were none. */
  readonly released?: number;
}

/** The counts of a sweep that starts runs, or finds them running. */
export interface StartCounts extends SweepCounts<RecordName> {
  readonly started: number;
}

/** The place at which a sweep over reservations continues. */
export type ReservationsPlace = SweepPlace<RecordName>;

/** What one overdue record adds to the counts. */
type Executed = Required<Pick<OverdueCounts, "granted" | "refused" | "released" | "oldestMs">>;

/** What may be due: holds, and the pending reservations of programs that are not paused. */
const dueRecords = (deps: Pick<Deps, "reader" | "clock">): Omit<Selection, "window"> => ({
  programs: () => duePrograms(deps),
  isWanted: ({ reservationPause }, state) => state === "HELD" || reservationPause === undefined,
});

type OnFailed = (name: RecordName, error: unknown) => void;

/**
 * Executes the pending reservations that are overdue, except those of paused programs, and releases
 * the holds that are, from a place on until `shouldContinue` returns false. It does not ask
 * Temporal about their runs: a run that comes later finds the record done. `onDone` is called for
 * every reservation that was granted. Users are notified of their grants in the background, which
 * no other overdue reservation waits for: the record of a notification that fails is done, so
 * neither this sweep nor a later one comes back to it. With `until`, it ends at that cursor.
 */
export async function executeOverdue(
  deps: NotifyDeps & Pick<Deps, "reader" | "clock" | "programs" | "background">,
  from: OverdueCounts & ReservationsPlace,
  shouldContinue: (progress: OverdueCounts & ReservationsPlace) => boolean,
  { onDone, onFailed }: { readonly onDone: OnDone; readonly onFailed: OnFailed },
  until?: string,
): Promise<OverdueCounts & { readonly cursor?: string }> {
  const { wall } = await deps.clock.now();
  const window = { start: undefined, end: wall - overdueMs };
  const { cursor: _, done: __, ...counts } = from;
  const brief = failingSoon(deps);
  return sweep<Reservation | Hold, RecordName, Executed, OverdueCounts>(
    {
      read: recordPages(deps, { window, ...dueRecords(deps) }, until),
      async process(found) {
        if ("holdId" in found) {
          const { entry } = await inTurn(() => timeOutHold(brief, found));
          const released = entry ? 1 : 0;
          return { granted: 0, refused: 0, released, oldestMs: wall - found.until };
        }
        const { programId, reservationId, userId, executeTime } = found;
        const name = { programId, reservationId, userId };
        const executed = await inTurn(() => executeReservation(brief, name));
        if (executed.outcome === "DONE") {
          onDone(executed.reservation, executed.cause);
          if (executed.notifies) deps.background(() => notifyGranted(deps, executed));
        }
        return {
          granted: executed.outcome === "DONE" ? 1 : 0,
          refused: executed.outcome === "FAILED" ? 1 : 0,
          released: 0,
          oldestMs: wall - executeTime,
        };
      },
      add: (total, { granted, refused, released, oldestMs }) => ({
        ...total,
        overdue: total.overdue + 1,
        granted: total.granted + granted,
        refused: total.refused + refused,
        ...(released > 0 && { released: (total.released ?? 0) + released }),
        oldestMs: Math.max(total.oldestMs, oldestMs),
      }),
      nameOf,
      keyOf: ({ programId, userId }) => `${programId} ${userId}`,
      onFailed,
      concurrency,
      outages: storeOutages,
      outageAfter,
    },
    counts,
    from,
    shouldContinue,
  );
}

/** Divides what is left of a sweep over overdue records (see `divideIntoLanes`). */
export const divideOverdue = (
  deps: Pick<Deps, "reader" | "clock">,
  left: Parameters<typeof divideIntoLanes>[1],
  ways: number,
): Promise<RecordLane[]> => divideIntoLanes(dueRecords(deps), left, ways);

/** Temporal or the store is away: the sweep continues when they are back. */
const startOutages = new Set([...storeOutages, "WORKFLOWS_UNAVAILABLE" as const]);

/**
 * Starts a run for every pending reservation and every hold that has none, after the loss of a
 * namespace, from a place on until `shouldContinue` returns false. Writes their due hours as well,
 * which a table that was restored may not have.
 */
export function startAllRuns(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs" | "dueHours" | "workflows">,
  from: StartCounts & ReservationsPlace,
  shouldContinue: (progress: StartCounts & ReservationsPlace) => boolean,
  onFailed: OnFailed,
): Promise<StartCounts & { readonly cursor?: string }> {
  const { cursor: _, done: __, ...counts } = from;
  const brief = failingSoon(deps);
  return sweep<Reservation | Hold, RecordName, void, StartCounts>(
    {
      read: recordPages(deps, {
        window: { start: undefined, end: undefined },
        programs: () => readAllPrograms(deps),
        isWanted: () => true,
      }),
      async process(record) {
        const time = "holdId" in record ? record.until : record.executeTime;
        await deps.dueHours.mark(record.programId, time, undefined);
        await startRun(brief, record);
      },
      add: (total) => ({ ...total, started: total.started + 1 }),
      nameOf,
      keyOf: (record) => JSON.stringify(nameOf(record)),
      onFailed,
      concurrency,
      outages: startOutages,
      outageAfter,
    },
    counts,
    from,
    shouldContinue,
  );
}
