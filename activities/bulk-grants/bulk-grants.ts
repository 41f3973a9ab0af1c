/** The activities that validate, execute and report a bulk grant, and change it for operators. */
import { log, sleep } from "@temporalio/activity";
import type {
  BlocksInput,
  BlocksResult,
  BulkChangeInput,
  BulkGrantInput,
  BulkGrantStatus,
  BulkGrantView,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
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
import type { Deps } from "../../src/hub/deps.ts";
import type { Observers } from "../../src/hub/observers.ts";
import { bulkGrantTiming } from "../../workflows/timing.ts";
import { check } from "../checks.ts";
import { fromTemporal } from "../operators.ts";
import { heartbeatWhile, runStep } from "../steps.ts";
import { type RowsSoFar, rowLines, toCounts, toStatus, toView } from "./bulk-grant-view.ts";

/** The number of failed rows that operators see. All are in the export of failed rows. */
const maxFailedLines = 20;

/** Each of these activities may be repeated. */
export function bulkGrantActivities(deps: Deps, onBlock: Observers["onBlock"]) {
  const viewOf = (input: BulkGrantInput) => readView(deps, input);

  return {
    /** Moves the record on by the time. Returns what follows from it. */
    advanceBulkGrant: (input: BulkGrantInput): Promise<BulkGrantView> => viewOf(input),

    /** Checks rows for one step. A retry continues from the last heartbeat. */
    async validateBlocks(input: BlocksInput): Promise<BlocksResult> {
      const { revision, from, to } = check(input, blocksFields);
      const range = { ...nameOf(input), revision, to };
      return runStep<{ readonly next: number }, BlocksResult>(
        { next: from },
        ({ next = from }, shouldContinue) =>
          validateBlocks(deps, { ...range, from: next }, shouldContinue),
      );
    },

    /** Ends the validation, and returns what follows. */
    async completeValidation(
      input: BulkGrantInput & { readonly revision: number },
    ): Promise<BulkGrantView> {
      const { revision } = check(input, { revision: "number" });
      const name = nameOf(input);
      const onDamage = (what: string, err: unknown) =>
        log.error("a sheet could not be compared", { ...name, what, err });
      await heartbeatWhile(completeValidation(deps, name, revision, onDamage));
      return viewOf(input);
    },

    /** Executes rows for one step. A retry continues from the last heartbeat. */
    async runBlocks(input: BlocksInput): Promise<BlocksResult> {
      const { revision, run, from, to } = check(input, blocksFields);
      const name = nameOf(input);
      const { next, stopped } = await runStep<RunProgress, RunProgress>(
        { next: from },
        ({ next = from }, shouldContinue) =>
          runBlocks(
            deps,
            { ...name, revision, run, from: next, to },
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
    },

    /** Ends a run, or counts a cancelled one again, and returns what follows. */
    async finishRun(input: BulkGrantInput & { readonly run: number }): Promise<BulkGrantView> {
      const { run } = check(input, { run: "number" });
      const name = nameOf(input);
      const awaitLateRows = () => sleep(bulkGrantTiming.lateRowsMs);
      await heartbeatWhile(finishRun(deps, name, run, awaitLateRows));
      return viewOf(input);
    },

    /** Tells people at most once what is due about the wait for approvals. */
    async announceBulkGrant(input: BulkGrantInput): Promise<object> {
      await announce(deps, nameOf(input));
      return {};
    },

    /** Reminds people once that the bulk grant awaits approval, when it is time. */
    async remindOfApproval(input: BulkGrantInput): Promise<object> {
      await remindOfApproval(deps, nameOf(input));
      return {};
    },

    /** Writes the failed rows to the source. */
    async writeFailuresToSource(input: BulkGrantInput): Promise<object> {
      await heartbeatWhile(writeFailuresToSource(deps, nameOf(input)));
      return {};
    },

    /** Reports the outcome at most once, and returns what follows. */
    async reportOutcome(input: BulkGrantInput): Promise<BulkGrantView> {
      await heartbeatWhile(reportOutcome(deps, nameOf(input)));
      return viewOf(input);
    },

    ...changeActivities(deps),
  };
}

/** Moves the record on by the time, and shows what follows. */
async function readView(deps: Deps, input: BulkGrantInput): Promise<BulkGrantView> {
  const name = nameOf(input);
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
  const by =
    (change: (deps: Deps, input: BulkGrantChange) => Promise<BulkGrant>) =>
    async (key: BulkGrantInput, input: BulkChangeInput): Promise<BulkGrantStatus> =>
      toStatus(await change(ownDeps, { ...nameOf(key), ...actorOf(input) }));
  return {
    rejectBulkGrant: by(rejectBulkGrant),
    cancelBulkGrant: by(cancelBulkGrant),
    pauseBulkGrant: by(pauseBulkGrant),
    resumeBulkGrant: by(resumeBulkGrant),
    retryBulkGrant: by(retryBulkGrant),
  };
}

const blocksFields = { revision: "number", run: "number", from: "number", to: "number" };

function nameOf(input: BulkGrantInput): BulkGrantName {
  const fields = { program_id: "string", bulk_grant_id: "string" };
  const { program_id: programId, bulk_grant_id: bulkGrantId } = check(input, fields);
  return { programId, bulkGrantId };
}

function actorOf(input: BulkChangeInput) {
  const { subject, reason = "" } = check(input, { subject: "string" });
  return { caller: fromTemporal(subject), reason };
}
