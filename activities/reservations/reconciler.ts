/** The activities of the reconciler, and of the full pass after the loss of a namespace. */
import { log } from "@temporalio/activity";
import type { BulkGrantName } from "../../src/bulk-grants/rules/bulk-grant.ts";
import {
  dropOldUploads,
  startActiveBulkGrants,
} from "../../src/bulk-grants/use-cases/reconcile.ts";
import type { RecordName } from "../../src/due/ports/due.ts";
import { startPendingPurges } from "../../src/feed/use-cases/reactions/purge-target.ts";
import type { Deps } from "../../src/hub/deps.ts";
import type { Observers } from "../../src/hub/observers.ts";
import type { TargetName } from "../../src/platform/words/target-name.ts";
import type { MonthEndCensus } from "../../src/points/ports/observers.ts";
import type { Program } from "../../src/points/rules/program.ts";
import { readMonthEnds } from "../../src/points/use-cases/programs/month-ends.ts";
import { readAllPrograms, readWaitingRules } from "../../src/points/use-cases/programs/queries.ts";
import {
  type StartProgress,
  startProgress,
  syncInput,
} from "../../src/reservations/contract/payloads.ts";
import type { SyncCounts } from "../../src/reservations/contract/reconciler.ts";
import { endDueHours, restoreDueHours } from "../../src/reservations/use-cases/due-programs.ts";
import { countPausedReservations } from "../../src/reservations/use-cases/pause.ts";
import {
  type ReservationsCursor,
  type StartCounts,
  startAllRuns,
} from "../../src/reservations/use-cases/start-all-runs.ts";
import { syncRuns } from "../../src/reservations/use-cases/sync-runs.ts";
import { checked } from "../checked.ts";
import { heartbeatWhile, runStep } from "../steps.ts";

type Started = StartCounts & ReservationsCursor;

/** Each of these activities may be repeated. */
export function reconcilerActivities(deps: Deps, observers: Observers) {
  const onFailed = (name: RecordName, err: unknown) =>
    log.warn("a reservation or a hold is left to the next pass", { ...name, err });
  return {
    /** Starts the runs of pending reservations, for one step. A retry goes on where it was. */
    startAllRuns: checked(
      [startProgress],
      (start): Promise<StartProgress> =>
        runStep<Started, Started>(start, (from, shouldContinue) =>
          startAllRuns(deps, { ...start, ...from }, shouldContinue, onFailed),
        ),
    ),

    /**
     * Corrects the runs that are not in line with their records. Starts purges that never ran, and
     * runs of bulk grants that are missing; drops uploads that were cut off. Counts what waits, and
     * finds month ends that are behind.
     */
    syncRuns: checked([syncInput], ({ since }) => {
      const sync = async (): Promise<SyncCounts> => {
        const programs = await readAllPrograms(deps).catch(warn("programs could not be read"));
        // First, because it needs no answer of Temporal.
        await writeDueHours(deps, programs);
        const counts = await syncRuns(deps, since, onFailed);
        await startPurges(deps);
        await startBulkGrants(deps, observers);
        const behind = await countByProgram(deps, programs, observers);
        observers.onPass();
        return { ...counts, ...(behind && behindCounts(behind)) };
      };
      return heartbeatWhile(sync());
    }),
  };
}

/** Does not throw: a failure leaves the purges to the next pass. */
async function startPurges(deps: Deps): Promise<void> {
  const onFailed = (target: TargetName, err: unknown) =>
    log.warn("the purge of a target is left to the next pass", { ...target, err });
  await startPendingPurges(deps, onFailed).catch(
    warn("the purges of targets are left to the next pass"),
  );
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
  const leftBulkGrants = warn("bulk grants are left to the next pass");
  onBulkGrants(await startActiveBulkGrants(deps, onFailed).catch(leftBulkGrants));
  await dropOldUploads(deps, onUploadFailed).catch(
    warn("cut-off uploads are left to the next pass"),
  );
}

/** Does not throw: a failure leaves the due hours to the next pass. */
async function writeDueHours(deps: Deps, programs: readonly Program[] | undefined): Promise<void> {
  const onFailed = (programId: string, err: unknown) =>
    log.warn("the due hours of a program are left to the next pass", { programId, err });
  const warnOfHours = warn("due hours are left to the next pass");
  await endDueHours(deps, onFailed).catch(warnOfHours);
  if (programs) await restoreDueHours(deps, programs, onFailed).catch(warnOfHours);
}

/** Does not throw: what cannot be counted is not exported. */
async function countByProgram(
  deps: Deps,
  programs: readonly Program[] | undefined,
  { onPaused, onMonthEnds, onWaitingRules }: Observers,
): Promise<MonthEndCensus | undefined> {
  const onFailed = (programId: string, err: unknown) =>
    log.warn("the months of a program could not be read", { programId, err });
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
  onWaitingRules(
    programs &&
      (await readWaitingRules(deps, programs).catch(warn("rules that wait could not be read"))),
  );
  return monthEnds;
}

const warn = (text: string) => (err: unknown) => {
  log.warn(text, { err });
  return undefined;
};

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
