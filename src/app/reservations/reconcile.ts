/** The use cases of the reconciler: whatever state its run is in, a reservation is granted. */
import pLimit from "p-limit";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { NotifyDeps } from "../notifications/notify.ts";
import type { Deps } from "../ports/deps.ts";
import type { OnDone } from "../ports/observers.ts";
import type { ReservationName } from "../ports/reservations.ts";
import { failingSoon } from "../shared/failing-soon.ts";
import { storeOutages } from "../shared/suspects.ts";
import { type SweepCounts, type SweepPlace, sweep } from "../shared/sweep.ts";
import {
  divideIntoLanes,
  pendingParts,
  type ReservationLane,
  reservationPages,
} from "./all-reservations.ts";
import { executeReservation } from "./execute.ts";
import { notifyGranted } from "./notify-granted.ts";
import { startRun } from "./workflow-runs.ts";

/** How long after its execute time a reservation is executed by the reconciler. */
const overdueMs = 15_000;

/** How many reservations of a lane are processed concurrently. */
const concurrency = 20;

/** So many in all lanes of this process, which also grants the reservations that are due. */
const inTurn = pLimit(64);

/** When so many accounts or runs fail without a success in between, it is an outage. */
const outageAfter = 40;

/** The counts of a sweep over overdue reservations. */
export interface OverdueCounts extends SweepCounts<ReservationName> {
  readonly overdue: number;
  /** How long the oldest one is overdue. */
  readonly oldestMs: Milliseconds;
  readonly granted: number;
  /** The number of reservations that are FAILED now. */
  readonly refused: number;
}

/** The counts of a sweep that starts runs, or finds them running. */
export interface StartCounts extends SweepCounts<ReservationName> {
  readonly started: number;
}

/** The place at which a sweep over reservations continues. */
export type ReservationsPlace = SweepPlace<ReservationName>;

/** What one overdue reservation adds to the counts. */
type Executed = Pick<OverdueCounts, "granted" | "refused" | "oldestMs">;

/** The pending reservations of programs that are not paused. */
const ofRunningPrograms = {
  parts: pendingParts,
  isWanted: ({ reservationPause }: Program) => reservationPause === undefined,
};

type OnFailed = (name: ReservationName, error: unknown) => void;

const nameOf = ({ programId, reservationId }: Reservation): ReservationName => ({
  programId,
  reservationId,
});

/**
 * Executes the pending reservations that are overdue, except those of paused programs, from a
 * place on until `shouldContinue` returns false. It does not ask Temporal about their runs: a run
 * that comes later finds the record done. `onDone` is called for every reservation that was
 * granted. Users are notified of their grants in the background, which no other overdue reservation
 * waits for: the record of a notification that fails is done, so neither this sweep nor a later one
 * comes back to it. With `until`, it ends at that cursor.
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
  return sweep<Reservation, ReservationName, Executed, OverdueCounts>(
    {
      read: reservationPages(deps, { window, ...ofRunningPrograms }, until),
      async process(found) {
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
          oldestMs: wall - executeTime,
        };
      },
      add: (total, { granted, refused, oldestMs }) => ({
        ...total,
        overdue: total.overdue + 1,
        granted: total.granted + granted,
        refused: total.refused + refused,
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

/** Divides what is left of a sweep over overdue reservations (see `divideIntoLanes`). */
export const divideOverdue = (
  deps: Pick<Deps, "reader">,
  left: Parameters<typeof divideIntoLanes>[2],
  ways: number,
): Promise<ReservationLane[]> => divideIntoLanes(deps, ofRunningPrograms, left, ways);

/** Temporal or the store is away: the sweep continues when they are back. */
const startOutages = new Set([...storeOutages, "WORKFLOWS_UNAVAILABLE" as const]);

/**
 * Starts a run for every pending reservation that has none, after the loss of a namespace, from a
 * place on until `shouldContinue` returns false.
 */
export function startAllRuns(
  deps: Pick<Deps, "engine" | "reader" | "programs" | "workflows">,
  from: StartCounts & ReservationsPlace,
  shouldContinue: (progress: StartCounts & ReservationsPlace) => boolean,
  onFailed: OnFailed,
): Promise<StartCounts & { readonly cursor?: string }> {
  const { cursor: _, done: __, ...counts } = from;
  const brief = failingSoon(deps);
  return sweep<Reservation, ReservationName, void, StartCounts>(
    {
      read: reservationPages(deps, {
        window: { start: undefined, end: undefined },
        parts: pendingParts,
        isWanted: () => true,
      }),
      process: (reservation) => startRun(brief, reservation),
      add: (total) => ({ ...total, started: total.started + 1 }),
      nameOf,
      keyOf: ({ programId, reservationId }) => `${programId} ${reservationId}`,
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
