/**
 * The sweep over overdue reservations and holds: whatever state its run is in, and whether or not
 * Temporal answers, a reservation is granted and a hold is released.
 */
import pLimit from "p-limit";
import { nameOf, type RecordName, type ReservationName } from "../../due/ports/due.ts";
import type { NotifyDeps } from "../../feed/use-cases/notifications/notify.ts";
import type { Hold } from "../../holds/rules/hold.ts";
import { timeOutHold } from "../../holds/use-cases/time-out.ts";
import type { Instant } from "../../platform/words/month.ts";
import { maxReports } from "../../platform/words/quantities.ts";
import { failingSoon } from "../../platform/work/failing-soon.ts";
import { type SweepCounts, sweep } from "../../platform/work/sweep.ts";
import { storeOutages } from "../../platform/work/unconfirmed-failures.ts";
import type { Deps } from "../ports/deps.ts";
import type { OnDone, OverdueFound } from "../ports/observers.ts";
import type { Reservation } from "../rules/reservation.ts";
import { allShards, recordPages, timeOf } from "./all-reservations.ts";
import { createDueMemory, type DueMemory, dueReads, readAheadMs } from "./due-reads.ts";
import { executeReservation } from "./execute.ts";
import { notifyGranted } from "./notify-granted.ts";
import { startMarked } from "./workflow-runs.ts";

/** How long after its time a reservation is executed, and a hold released, without its run. */
const overdueMs = 1_000;

/** For so long after its time, a grant that this process holds is left to its activity. */
const heldMs = 30_000;

/** How soon it is looked for again, as its activity may fail. */
const heldAgainMs = 3_000;

/** Of so many programs, what is overdue is executed at once. */
const programsAtOnce = 8;

/** How many overdue records of a program are executed at once. */
const recordsAtOnce = 16;

/** A record that failed is left alone for so long, and costs no other record its time. */
const againMs = 15_000;

/**
 * The time for one program in a sweep. The next sweep goes on where it ended, so that no program
 * waits for one with very many records.
 */
const turnMs = 2_000;

/** When so many accounts of a program fail without a success in between, it is an outage. */
const outageAfter = 40;

/** The counts of a sweep over overdue reservations and holds. */
interface OverdueCounts extends SweepCounts<RecordName>, OverdueFound {
  readonly granted: number;
  /** The number of reservations that are FAILED now. */
  readonly refused: number;
  /** The number of holds that were released. */
  readonly released: number;
}

/** The observers of a sweep over overdue records. */
interface OverdueObservers {
  /** Called for every reservation that was granted. */
  readonly onDone: OnDone;
  /** Called for every reservation that was set FAILED. */
  readonly onRefused?: (reservation: Reservation) => void;
  /** Called for a record that fails; also for a program, as when its tables are throttled. */
  readonly onFailed: (name: RecordName | Pick<RecordName, "programId">, error: unknown) => void;
  /** Whether an activity of this process holds the grant. */
  readonly isHeld?: (name: ReservationName) => boolean;
}

type OverdueDeps = NotifyDeps &
  Pick<Deps, "reader" | "clock" | "programs" | "workflows" | "background">;

type OverdueRecord = Reservation | Hold;

/**
 * Executes the pending reservations that are overdue, except those of paused programs and those
 * that this process holds, and releases the holds that are. It does not ask Temporal about their
 * runs: a run that comes later finds the record done. Sweeps of several processes begin at random
 * programs and shards, so that they rarely work on the same record. A sweep ends before the next
 * record when `signal` aborts. `memory` is that of all sweeps of a process.
 *
 * Users are notified of their grants in the background, which no other overdue reservation waits
 * for: the record of a notification that fails is done, so no sweep comes back to it. The run of a
 * released hold is signalled in the background, too, unless Temporal is away.
 *
 * `failed` counts what is left alone now. A program that fails is one more, and stops no other one.
 * When every program fails, that is an outage, and the first error is thrown. `isWhole` says
 * whether all turns have come to their end.
 */
export async function executeOverdue(
  deps: OverdueDeps,
  observers: OverdueObservers,
  signal?: AbortSignal,
  memory = createDueMemory(),
): Promise<OverdueCounts & { readonly isWhole: boolean }> {
  const { cursors } = memory;
  const { wall } = await deps.clock.now();
  /** When a sweep executes a record; of one that is held, when it looks again. */
  const sweepTime = (record: OverdueRecord): Instant =>
    isHeldHere(record, observers)
      ? Math.min(timeOf(record) + heldMs, wall + heldAgainMs)
      : timeOf(record) + overdueMs;
  const reads = dueReads(deps, memory, wall, (record) => ({
    overdue: timeOf(record) + overdueMs,
    sweep: sweepTime(record),
  }));
  const execute = overdueExecution(deps, observers);
  const errors = new Map<string, unknown>();
  let counts = nothing;
  let isWhole = true;
  let succeeded = 0;
  const isOver = () => signal?.aborted || (succeeded === 0 && errors.size >= programsAtOnce);
  const { hasFailed, onFailed, left } = leavingAlone(memory, wall, observers);

  async function takeTurn(programId: string): Promise<void> {
    const copy = deps.programs.recent(programId, readAheadMs);
    // One that is paused may have been resumed.
    const program = copy && !copy.reservationPause ? copy : await deps.programs.read(programId);
    const { shards, cursor } = cursors.get(programId) ?? {
      shards: fromAnywhere(allShards(program)),
    };
    const readPage = recordPages(reads, {
      programs: async () => [program],
      isWanted: ({ reservationPause }, state) => state === "HELD" || !reservationPause,
      shardsOf: () => shards,
    });
    const end = performance.now() + turnMs;
    const { cursor: next, ...done } = await sweep<
      OverdueRecord,
      RecordName,
      Executed,
      OverdueCounts
    >(
      {
        async read(from) {
          const page = await readPage(from);
          const oldestMs = Math.max(0, ...page.items.map((record) => wall - timeOf(record)));
          counts = sumOf(counts, { ...nothing, oldestMs });
          // Since it was read ahead, an activity may have begun to hold it.
          const isReady = (record: OverdueRecord) =>
            sweepTime(record) < wall && !hasFailed(nameOf(record));
          return { ...page, items: page.items.filter(isReady) };
        },
        process: async (record) => (signal?.aborted ? {} : execute(record)),
        add: (total, executed) => sumOf(total, { ...nothing, ...executed }),
        nameOf,
        keyOf: ({ userId }) => userId,
        onFailed,
        concurrency: recordsAtOnce,
        outages: storeOutages,
        outageAfter,
      },
      nothing,
      cursor === undefined ? {} : { cursor },
      () => !isOver() && performance.now() < end,
    );
    if (next === undefined) cursors.delete(programId);
    else cursors.set(programId, { shards, cursor: next });
    isWhole &&= next === undefined;
    counts = sumOf(counts, done);
  }

  async function takeTurnOrFail(programId: string): Promise<void> {
    if (isOver() || hasFailed({ programId })) return;
    try {
      await takeTurn(programId);
      succeeded += 1;
    } catch (error) {
      errors.set(programId, error);
      // The next turn may begin where it does not fail.
      cursors.delete(programId);
    }
  }

  const inTurn = pLimit(programsAtOnce);
  const programIds = fromAnywhere(await reads.programIds());
  await Promise.all(programIds.map((programId) => inTurn(() => takeTurnOrFail(programId))));
  const [first] = errors.values();
  if (errors.size > 0 && succeeded === 0) throw first;
  for (const [programId, error] of errors) onFailed({ programId }, error);
  const { failed, oldestMs } = left();
  return { ...counts, failed, oldestMs: Math.max(counts.oldestMs, oldestMs), isWhole };
}

/** Whether an activity of this process will grant the points soon. */
const isHeldHere = (record: OverdueRecord, { isHeld }: OverdueObservers): boolean =>
  "reservationId" in record && isHeld?.(record) === true;

/** Keeps what has failed, so that sweeps leave it alone for some seconds. */
function leavingAlone({ failures }: DueMemory, wall: Instant, observers: OverdueObservers) {
  type Name = Parameters<OverdueObservers["onFailed"]>[0];
  // A clock that was set back makes what is kept worthless.
  const isLeft = (until = 0) => until > wall && until <= wall + againMs;
  return {
    hasFailed: (name: Name) => isLeft(failures.get(JSON.stringify(name))?.until),
    onFailed(name: Name, error: unknown) {
      const key = JSON.stringify(name);
      const since = failures.get(key)?.since ?? wall;
      failures.set(key, { since, until: wall + againMs });
      observers.onFailed(name, error);
    },
    /** How many are left alone now, and for how long one has failed. */
    left() {
      const all = [...failures.values()].filter(({ until }) => isLeft(until));
      const oldestMs = Math.max(0, ...all.map(({ since }) => wall - since));
      return { failed: all.length, oldestMs };
    },
  };
}

const nothing: OverdueCounts = {
  overdue: 0,
  oldestMs: 0,
  granted: 0,
  refused: 0,
  released: 0,
  failed: 0,
  failures: [],
};

export const sumOf = (a: OverdueCounts, b: OverdueCounts): OverdueCounts => ({
  overdue: a.overdue + b.overdue,
  oldestMs: Math.max(a.oldestMs, b.oldestMs),
  granted: a.granted + b.granted,
  refused: a.refused + b.refused,
  released: a.released + b.released,
  failed: a.failed + b.failed,
  failures: [...a.failures, ...b.failures].slice(0, maxReports),
});

/** The same items in their order, from a random one on. */
function fromAnywhere<T>(items: readonly T[]): readonly T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

/** The counts that one overdue record adds. */
type Executed = Partial<Pick<OverdueCounts, "overdue" | "granted" | "refused" | "released">>;

/** Returns how an overdue record is executed. */
function overdueExecution(
  deps: OverdueDeps,
  { onDone, onRefused }: Pick<OverdueObservers, "onDone" | "onRefused">,
): (record: OverdueRecord) => Promise<Executed> {
  const brief = failingSoon(deps);
  return async (record) => {
    if ("holdId" in record) {
      const { hold, entry } = await timeOutHold(brief, record);
      // Without this signal only the view in Temporal is old, and notifications are not delayed.
      if (entry && !deps.workflows.isAway()) deps.background(() => startMarked(deps, hold));
      return { overdue: 1, released: entry ? 1 : 0 };
    }
    const { programId, reservationId, userId } = record;
    const executed = await executeReservation(brief, { programId, reservationId, userId });
    if (executed.outcome === "FAILED") {
      if (executed.isNew) onRefused?.(executed.reservation);
      return { overdue: 1, refused: 1 };
    }
    if (executed.outcome !== "DONE") return {};
    onDone(executed.reservation, executed.cause);
    if (executed.notifies) deps.background(() => notifyGranted(deps, executed));
    return { overdue: 1, granted: 1 };
  };
}
