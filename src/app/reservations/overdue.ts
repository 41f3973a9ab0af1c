/**
 * The sweep over overdue reservations and holds: whatever state its run is in, and whether or not
 * Temporal answers, a reservation is granted and a hold is released.
 */
import pLimit from "p-limit";
import { maxReports } from "../../contract/points.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Hold } from "../../domain/hold.ts";
import type { Instant } from "../../domain/month.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import { timeOutHold } from "../holds/time-out.ts";
import type { NotifyDeps } from "../notifications/notify.ts";
import type { Deps } from "../ports/deps.ts";
import type { OnDone, OverdueFound } from "../ports/observers.ts";
import type { RecordName } from "../ports/reservations.ts";
import { failingSoon } from "../shared/failing-soon.ts";
import { storeOutages } from "../shared/suspects.ts";
import { type SweepCounts, sweep } from "../shared/sweep.ts";
import { allShards, nameOf, recordPages } from "./all-reservations.ts";
import { duePrograms } from "./due-programs.ts";
import { executeReservation } from "./execute.ts";
import { notifyGranted } from "./notify-granted.ts";

/**
 * How long after its time a reservation is executed, and a hold released, without its run: when the
 * worker that held it was killed, Temporal has mostly given it to another one before.
 */
const overdueMs = 5_000;

/** How many overdue reservations are executed at once, beside those that are due. */
const executedAtOnce = 64;

/** Of so many programs, what is overdue is executed at once. */
const programsAtOnce = 8;

/** Then the next program has its turn, so that none waits for one with very many reservations. */
const turnMs = 5_000;

/** When so many accounts fail without a success in between, it is an outage. */
const outageAfter = 40;

/** The counts of a sweep over overdue reservations and holds. */
interface OverdueCounts extends SweepCounts<RecordName>, OverdueFound {
  readonly granted: number;
  /** The number of reservations that are FAILED now. */
  readonly refused: number;
  /** The number of holds that were released. */
  readonly released: number;
}

/** What a sweep over overdue records tells of. */
interface OverdueObservers {
  /** Called for every reservation that was granted. */
  readonly onDone: OnDone;
  readonly onFailed: (name: RecordName, error: unknown) => void;
  /** Called with the counts so far, at least once. */
  readonly onCounts?: (counts: OverdueFound) => void;
}

/**
 * Executes the pending reservations that are overdue, except those of paused programs, and releases
 * the holds that are. It does not ask Temporal about their runs: a run that comes later finds the
 * record done. Sweeps of several processes begin at random programs and shards, so that they rarely
 * work on the same record. A sweep ends before the next page when `signal` aborts.
 *
 * Users are notified of their grants in the background, which no other overdue reservation waits
 * for: the record of a notification that fails is done, so no sweep comes back to it.
 *
 * When the tables of a program are throttled, that is thrown after the sweep of the others. An
 * outage of the store ends the sweep, and is thrown.
 */
export async function executeOverdue(
  deps: NotifyDeps & Pick<Deps, "reader" | "clock" | "programs" | "background">,
  observers: OverdueObservers,
  signal?: AbortSignal,
): Promise<OverdueCounts> {
  const { wall } = await deps.clock.now();
  const inTurn = pLimit(executedAtOnce);
  const execute = overdueExecution(deps, observers.onDone, wall);
  const programTurns = pLimit(programsAtOnce);
  let counts: OverdueCounts = nothing;
  const outages: unknown[] = [];
  const isOver = () => signal?.aborted || outages.some((error) => !isThrottled(error));

  /** Sweeps over a program from a cursor on, for a turn. Returns where its next turn begins. */
  async function takeTurn(
    program: Program,
    shards: typeof allShards,
    cursor?: string,
  ): Promise<string | undefined> {
    const end = performance.now() + turnMs;
    const result = await sweep<Reservation | Hold, RecordName, Executed, OverdueCounts>(
      {
        read: recordPages(deps, {
          window: { start: undefined, end: wall - overdueMs },
          programs: async () => [program],
          isWanted: ({ reservationPause }, state) => state === "HELD" || !reservationPause,
          shards,
        }),
        process: (record) => inTurn(() => execute(record)),
        add: (total, executed) => sumOf(total, { ...nothing, ...executed, overdue: 1 }),
        nameOf,
        keyOf: ({ programId, userId }) => `${programId} ${userId}`,
        onFailed: observers.onFailed,
        concurrency: executedAtOnce,
        outages: storeOutages,
        outageAfter,
      },
      nothing,
      cursor === undefined ? {} : { cursor },
      () => !isOver() && performance.now() < end,
    );
    counts = sumOf(counts, result);
    observers.onCounts?.(counts);
    return result.cursor;
  }

  async function executeProgram(program: Program): Promise<void> {
    const shards = fromAnywhere(allShards);
    let cursor: string | undefined;
    do cursor = await programTurns(() => takeTurn(program, shards, cursor));
    while (cursor !== undefined && !isOver());
  }

  const programs = fromAnywhere(await duePrograms(deps));
  await Promise.all(
    programs.map((program) => executeProgram(program).catch((error) => outages.push(error))),
  );
  if (outages.length > 0) throw outages.find((error) => !isThrottled(error)) ?? outages[0];
  observers.onCounts?.(counts);
  return counts;
}

const nothing: OverdueCounts = {
  ...{ overdue: 0, oldestMs: 0, granted: 0, refused: 0, released: 0 },
  ...{ failed: 0, failures: [] },
};

const sumOf = (a: OverdueCounts, b: OverdueCounts): OverdueCounts => ({
  overdue: a.overdue + b.overdue,
  oldestMs: Math.max(a.oldestMs, b.oldestMs),
  granted: a.granted + b.granted,
  refused: a.refused + b.refused,
  released: a.released + b.released,
  failed: a.failed + b.failed,
  failures: [...a.failures, ...b.failures].slice(0, maxReports),
});

const isThrottled = (error: unknown): boolean =>
  error instanceof DomainError && error.reason === "THROTTLED";

/** The same items in their order, from a random one on. */
function fromAnywhere<T>(items: readonly T[]): readonly T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

/** What one overdue record adds to the counts. */
type Executed = Partial<Pick<OverdueCounts, "granted" | "refused" | "released" | "oldestMs">>;

/** Returns how an overdue record is executed. */
function overdueExecution(
  deps: NotifyDeps & Pick<Deps, "reader" | "programs" | "background">,
  onDone: OnDone,
  wall: Instant,
): (record: Reservation | Hold) => Promise<Executed> {
  const brief = failingSoon(deps);
  return async (record) => {
    if ("holdId" in record) {
      const { entry } = await timeOutHold(brief, record);
      return { released: entry ? 1 : 0, oldestMs: wall - record.until };
    }
    const { programId, reservationId, userId, executeTime } = record;
    const executed = await executeReservation(brief, { programId, reservationId, userId });
    const oldestMs = wall - executeTime;
    if (executed.outcome !== "DONE") {
      return { refused: executed.outcome === "FAILED" ? 1 : 0, oldestMs };
    }
    onDone(executed.reservation, executed.cause);
    if (executed.notifies) deps.background(() => notifyGranted(deps, executed));
    return { granted: 1, oldestMs };
  };
}
