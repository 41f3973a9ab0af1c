/** The activities of the reconciler, and of the full pass after the loss of a namespace. */
import { log } from "@temporalio/activity";
import { dropOldUploads, startActiveBulkGrants } from "../src/app/bulk-grants/reconcile.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import type { MonthEndCensus, Observers } from "../src/app/ports/observers.ts";
import type { RecordName } from "../src/app/ports/reservations.ts";
import { readMonthEnds } from "../src/app/programs/month-ends.ts";
import { readAllPrograms } from "../src/app/programs/queries.ts";
import { startPendingPurges } from "../src/app/reactions/purge-target.ts";
import { endDueHours } from "../src/app/reservations/due-programs.ts";
import { countPausedReservations } from "../src/app/reservations/pause.ts";
import {
  divideOverdue,
  executeOverdue,
  type OverdueCounts,
  type ReservationsPlace,
  type StartCounts,
  startAllRuns,
} from "../src/app/reservations/reconcile.ts";
import { syncRuns } from "../src/app/reservations/sync-runs.ts";
import type {
  OverdueStep,
  OverdueStepResult,
  ReconcilerInput,
  StartProgress,
  SyncCounts,
} from "../src/contract/reconciler.ts";
import type { BulkGrantName } from "../src/domain/bulk-grant.ts";
import { DomainError } from "../src/domain/errors.ts";
import type { Instant } from "../src/domain/month.ts";
import type { TargetName } from "../src/domain/target.ts";
import { reconcilerTiming } from "../workflows/timing.ts";
import { check } from "./checks.ts";
import { camelCased } from "./spelling.ts";
import { heartbeatWhile, runStep } from "./steps.ts";

type Overdue = OverdueCounts & ReservationsPlace;
type Started = StartCounts & ReservationsPlace;

/** Each of these activities may be repeated. */
export function reconcilerActivities(deps: Deps, observers: Observers) {
  const { onDone, onOverdue } = observers;
  const onFailed = (name: RecordName, err: unknown) =>
    log.warn("a reservation or a hold is left to the next pass", { ...name, err });
  return {
    /**
     * Executes overdue reservations, for one step, and may divide what is left into lanes. A retry
     * continues from the last heartbeat.
     */
    async executeOverdue(input: OverdueStep): Promise<OverdueStepResult> {
      const fields = { overdue: "number", cursor: "string?", until: "string?", ways: "number?" };
      const { until, ways, ...progress } = check(input, fields);
      const start = camelCased<Overdue>(progress);
      try {
        const result = await runStep<Overdue, Overdue>(
          start,
          (from, shouldContinue) =>
            executeOverdue(
              deps,
              { ...start, ...from },
              shouldContinue,
              { onDone, onFailed },
              until,
            ),
          reconcilerTiming.overdueStepMs,
        );
        const { cursor } = result;
        const isWhole = cursor === undefined && until === undefined;
        onOverdue({ count: result.overdue + result.failed, oldestMs: result.oldest_ms, isWhole });
        if (cursor === undefined || ways === undefined) return result;
        const dividing = divideOverdue(deps, { cursor, until }, ways);
        return { ...result, lanes: await heartbeatWhile(dividing, () => result) };
      } catch (error) {
        onOverdue(undefined);
        throw error;
      }
    },

    /** Starts the runs of pending reservations, for one step, as `executeOverdue`. */
    async startAllRuns(input: StartProgress): Promise<StartProgress> {
      check(input, { started: "number", cursor: "string?" });
      const start = camelCased<Started>(input);
      return runStep<Started, Started>(start, (from, shouldContinue) =>
        startAllRuns(deps, { ...start, ...from }, shouldContinue, onFailed),
      );
    },

    /**
     * Corrects the runs that are not in line with their records. Starts purges that never ran, and
     * runs of bulk grants that are missing; drops uploads that were cut off. Counts what waits, and
     * finds month ends that are behind.
     */
    async syncRuns({ since }: Required<ReconcilerInput>): Promise<SyncCounts> {
      const sync = async () => {
        const counts = await syncRuns(deps, toInstant(since), onFailed);
        await startPurges(deps);
        await startBulkGrants(deps, observers);
        await endHours(deps);
        const behind = await countByProgram(deps, observers);
        return { ...counts, ...(behind && behindCounts(behind)) };
      };
      return heartbeatWhile(sync());
    },
  };
}

/** Does not throw: a failure leaves the purges to the next pass. */
async function startPurges(deps: Deps): Promise<void> {
  const onFailed = (target: TargetName, err: unknown) =>
    log.warn("the purge of a target is left to the next pass", { ...target, err });
  try {
    await startPendingPurges(deps, onFailed);
  } catch (err) {
    log.warn("the purges of targets are left to the next pass", { err });
  }
}

/** Does not throw: a failure leaves the bulk grants and the uploads to the next pass. */
async function startBulkGrants(
  deps: Deps,
  { onBulkGrants }: Pick<Observers, "onBulkGrants">,
): Promise<void> {
  const onFailed = (name: BulkGrantName, err: unknown) =>
    log.warn("a bulk grant is left to the next pass", { ...name, err });
  const onUploadFailed = (uploadId: string, err: unknown) =>
    log.warn("the rows of an upload are left to the next pass", { uploadId, err });
  try {
    onBulkGrants(await startActiveBulkGrants(deps, onFailed));
  } catch (err) {
    onBulkGrants(undefined);
    log.warn("bulk grants are left to the next pass", { err });
  }
  try {
    await dropOldUploads(deps, onUploadFailed);
  } catch (err) {
    log.warn("cut-off uploads are left to the next pass", { err });
  }
}

/** Does not throw: a failure leaves the due hours to the next pass. */
async function endHours(deps: Deps): Promise<void> {
  const onFailed = (programId: string, err: unknown) =>
    log.warn("the due hours of a program are left to the next pass", { programId, err });
  await endDueHours(deps, onFailed).catch((err) =>
    log.warn("due hours are left to the next pass", { err }),
  );
}

/**
 * Reads all programs once, and counts by them. Does not throw: what cannot be read or counted is
 * not exported.
 */
async function countByProgram(
  deps: Deps,
  { onPaused, onMonthEnds }: Pick<Observers, "onPaused" | "onMonthEnds">,
): Promise<MonthEndCensus | undefined> {
  const warn = (text: string) => (err: unknown) => {
    log.warn(text, { err });
    return undefined;
  };
  const onFailed = (programId: string, err: unknown) =>
    log.warn("the months of a program could not be read", { programId, err });
  const programs = await readAllPrograms(deps).catch(warn("programs could not be read"));
  const paused =
    programs &&
    (await countPausedReservations(deps, programs).catch(
      warn("paused reservations could not be counted"),
    ));
  onPaused(paused);
  const monthEnds =
    programs &&
    (await readMonthEnds(deps, programs, onFailed).catch(warn("month ends could not be read")));
  onMonthEnds(monthEnds);
  return monthEnds;
}

/** So many programs that are behind are named. */
const maxNamed = 20;

/** The programs whose month ends are behind, the worst first. */
function behindCounts({ behind }: MonthEndCensus): Pick<SyncCounts, "behind" | "behind_count"> {
  const late = [...behind].filter(([, months]) => months > 0).sort(([, a], [, b]) => b - a);
  return {
    behind: late.slice(0, maxNamed).map(([program_id, months]) => ({ program_id, months })),
    behind_count: late.length,
  };
}

function toInstant(time: string): Instant {
  const instant = Date.parse(time);
  if (Number.isFinite(instant)) return instant;
  throw new DomainError("INVALID_REQUEST", "since: must be an RFC 3339 time");
}
