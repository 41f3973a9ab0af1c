/** The activities that validate, execute and report a bulk grant, and change it for operators. */
import { log, sleep } from "@temporalio/activity";
import type { BlocksResult, BulkGrantView } from "../../src/bulk-grants/contract/bulk-grants.ts";
import {
  blocksInput,
  bulkChangeInput,
  bulkGrantInput,
  revisionInput,
  runInput,
} from "../../src/bulk-grants/contract/payloads.ts";
import type { BulkGrant, BulkGrantName } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { grantedPointsExpireTime } from "../../src/bulk-grants/rules/bulk-grant-summary.ts";
import {
  advanceBulkGrant,
  announce,
  remindOfApproval,
  reportOutcome,
  writeFailuresToSource,
} from "../../src/bulk-grants/use-cases/advance.ts";
import { readBulkGrant } from "../../src/bulk-grants/use-cases/bulk-grant-record.ts";
import {
  type BulkGrantChange,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../src/bulk-grants/use-cases/commands.ts";
import { countInvalid, firstFailures } from "../../src/bulk-grants/use-cases/first-failures.ts";
import {
  countOutcomes,
  finishRun,
  type RunProgress,
  runBlocks,
} from "../../src/bulk-grants/use-cases/run.ts";
import { readSummary } from "../../src/bulk-grants/use-cases/summarize.ts";
import {
  completeValidation,
  validateBlocks,
} from "../../src/bulk-grants/use-cases/validate-blocks.ts";
import type { Deps, WorkerDeps } from "../../src/hub/deps.ts";
import type { Observers } from "../../src/hub/observers.ts";
import { bulkGrantTiming } from "../../workflows/timing.ts";
import { checked } from "../checked.ts";
import { auditOf, fromTemporal } from "../operators.ts";
import { heartbeatWhile, runStep } from "../steps.ts";
import { type RowsSoFar, rowLines, toCounts, toStatus, toView } from "./bulk-grant-view.ts";

/** The number of failed rows that operators see. All are in the export of failed rows. */
const maxFailedLines = 20;

/** Each of these activities may be repeated. */
export function bulkGrantActivities(
  deps: WorkerDeps,
  { onBlock, onFailed }: Pick<Observers, "onBlock" | "onFailed">,
) {
  const onOutcome = ({ state }: BulkGrant) => {
    if (state === "INVALID" || state === "DONE_WITH_FAILURES") onFailed("bulk_grant", state);
  };
  return {
    /** Moves the record on by the time. Returns what follows from it. */
    advanceBulkGrant: checked([bulkGrantInput], (name) => readView(deps, name)),

    /** Checks rows for one step. A retry continues from the last heartbeat. */
    validateBlocks: checked(
      [blocksInput],
      (range): Promise<BlocksResult> =>
        runStep<{ readonly next: number }, BlocksResult>(
          { next: range.from },
          ({ next = range.from }, shouldContinue) =>
            validateBlocks(deps, { ...range, from: next }, shouldContinue),
        ),
    ),

    /** Ends the validation, and returns what follows. */
    completeValidation: checked([revisionInput], async ({ revision, ...name }) => {
      const onDamage = (what: string, err: unknown) =>
        log.error("a sheet could not be compared", { ...name, what, err });
      await heartbeatWhile(completeValidation(deps, name, revision, onDamage));
      return readView(deps, name);
    }),

    /** Executes rows for one step. A retry continues from the last heartbeat. */
    runBlocks: checked([blocksInput], async (range): Promise<BlocksResult> => {
      const { programId, bulkGrantId, from } = range;
      const name = { programId, bulkGrantId };
      const { next, stopped } = await runStep<RunProgress, RunProgress>(
        { next: from },
        ({ next = from }, shouldContinue) =>
          runBlocks(
            deps,
            { ...range, from: next },
            shouldContinue,
            (_userId, err) => log.error("a row could not be executed", { ...name, err }),
            onBlock,
          ),
      );
      const bulkGrant = await readBulkGrant(deps, name);
      const found = await rowsSoFar(deps, bulkGrant);
      return {
        next,
        stopped,
        counts: toCounts(bulkGrant, found),
        rows: rowLines(bulkGrant, found),
      };
    }),

    /** Ends a run, or counts a cancelled one again, and returns what follows. */
    finishRun: checked([runInput], async ({ run, ...name }) => {
      const awaitLateRows = () => sleep(bulkGrantTiming.lateRowsMs);
      await heartbeatWhile(finishRun(deps, name, run, awaitLateRows));
      return readView(deps, name);
    }),

    /** Reports at most once what is due about the wait for approvals. */
    announceBulkGrant: checked([bulkGrantInput], async (name) => {
      await announce(deps, name);
      return {};
    }),

    /** Reminds people once that the bulk grant awaits approval, when it is time. */
    remindOfApproval: checked([bulkGrantInput], async (name) => {
      await remindOfApproval(deps, name);
      return {};
    }),

    /** Writes the failed rows to the source. */
    writeFailuresToSource: checked([bulkGrantInput], async (name) => {
      await heartbeatWhile(writeFailuresToSource(deps, name));
      return {};
    }),

    /** Reports the outcome at most once, and returns what follows. */
    reportOutcome: checked([bulkGrantInput], async (name) => {
      await heartbeatWhile(reportOutcome(deps, name, onOutcome));
      return readView(deps, name);
    }),

    ...changeActivities(deps),
  };
}

/** Moves the record on by the time, and shows what follows. */
async function readView(deps: Deps, name: BulkGrantName): Promise<BulkGrantView> {
  const advanced = await advanceBulkGrant(deps, name);
  const { bulkGrant } = advanced;
  const program = await deps.programs.get(bulkGrant.programId);
  const summary =
    bulkGrant.state === "AWAITING_APPROVAL"
      ? await readSummary(deps, name, bulkGrant.revision.number)
      : undefined;
  const now = summary && (await deps.clock.now());
  return toView(advanced, {
    ...(await rowsSoFar(deps, bulkGrant)),
    summary,
    timeZone: program.timeZone,
    pointsExpireTime: now && grantedPointsExpireTime(bulkGrant, program, now.calendar),
  });
}

/** Reads no row when nothing is invalid or has failed. */
async function rowsSoFar(deps: Pick<Deps, "reader">, bulkGrant: BulkGrant): Promise<RowsSoFar> {
  const { state, result } = bulkGrant;
  const counts = state === "RUNNING" ? await countOutcomes(deps, bulkGrant) : result;
  const hasFailed = state === "INVALID" || (counts?.failedCount ?? 0) > 0;
  return {
    counts,
    failedLines: hasFailed ? await firstFailures(deps, bulkGrant, maxFailedLines) : [],
    invalidCounts: state === "INVALID" ? await countInvalid(deps, bulkGrant) : {},
  };
}

/** The activities of the Updates: each changes the record as the RPC of the same name does. */
function changeActivities(deps: Deps) {
  // The run that handles an Update reads its record again by itself, so it needs no signal.
  const ownDeps = { ...deps, workflows: { ...deps.workflows, refreshBulkGrant: async () => {} } };
  const by = (method: string, change: (deps: Deps, input: BulkGrantChange) => Promise<BulkGrant>) =>
    checked([bulkGrantInput, bulkChangeInput], async (name, { subject, reason = "" }) => {
      const caller = fromTemporal(subject);
      const audit = auditOf(caller, method);
      return toStatus(await change(ownDeps, { ...name, caller, reason, audit }));
    });
  return {
    rejectBulkGrant: by("RejectBulkGrant", rejectBulkGrant),
    cancelBulkGrant: by("CancelBulkGrant", cancelBulkGrant),
    pauseBulkGrant: by("PauseBulkGrant", pauseBulkGrant),
    resumeBulkGrant: by("ResumeBulkGrant", resumeBulkGrant),
    retryBulkGrant: by("RetryBulkGrant", retryBulkGrant),
  };
}
