/** The activities of jobs over all accounts of a program, which are the same for all kinds. */
import { activityInfo, log } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import { camelCased, snakeCased } from "../../src/platform/contract/payload-names.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { JobSegmentResult } from "../../src/points/contract/jobs.ts";
import {
  jobEnd,
  jobFileList,
  jobSegmentInput,
  jobStepInput,
} from "../../src/points/contract/payloads.ts";
import type { Job, JobName } from "../../src/points/rules/jobs.ts";
import { allJobs } from "../../src/points/use-cases/jobs/all-jobs.ts";
import {
  type JobType,
  readJob,
  type StepResult,
  storeSum,
} from "../../src/points/use-cases/jobs/jobs.ts";
import { releaseScanLock, takeScanLock } from "../../src/points/use-cases/jobs/scan-lock.ts";
import type { AccountsCursor } from "../../src/points/use-cases/sweep-accounts.ts";
import { steps } from "../../workflows/timing.ts";
import { checked } from "../checked.ts";
import { expected } from "../reservations/until-due.ts";
import { heartbeatWhile, runStep } from "../steps.ts";

interface BegunJob {
  readonly request: object;
  readonly complete?: object;
}

/** Each of these activities may be repeated. */
export function jobActivities(deps: Deps, types: readonly JobType[] = allJobs) {
  async function find(name: JobName): Promise<{ type: JobType; job: Job }> {
    const type = types.find(({ kind }) => kind.name === name.kind);
    if (!type) throw new DomainError("INVALID_REQUEST", "kind: there is no such job");
    return { type, job: await readJob(deps, name) };
  }

  return {
    /** Returns the request of a job, and keeps its result if it is complete already. */
    beginJob: checked([jobStepInput], async (name): Promise<BegunJob> => {
      const { type, job } = await find(name);
      const request = snakeCased(job.request);
      const complete = type.begin && (await heartbeatWhile(type.begin(deps, job)));
      if (!complete) return { request };
      await storeSum(deps, job, complete);
      return { request, complete: snakeCased(complete) };
    }),

    /**
     * Adds up a segment, for one step, when the run has the lock. A retry continues from the last
     * heartbeat.
     */
    sweepSegment: checked([jobSegmentInput], async (input): Promise<JobSegmentResult> => {
      const { programId, jobId, segment, segments, cursor } = input;
      const { type, job } = await find(input);
      const nothing = camelCased<object>(type.kind.nothing);
      const found = await withScanLock(deps, job, () =>
        runStep<AccountsCursor, StepResult<object>>(
          { cursor },
          ({ cursor, done, ...counts }, shouldContinue) =>
            type.step(
              deps,
              job,
              { segment, segments },
              { ...nothing, ...counts },
              { cursor, done },
              shouldContinue as (progress: object) => boolean,
              (message, fields) => log.warn(message, { programId, jobId, ...fields }),
            ),
          type.makesFiles ? steps.exportMs : steps.limitMs,
        ),
      );
      const { cursor: next, file, ...sum } = found;
      return { cursor: next, file, sum };
    }),

    /** Stores a list of the files of a run, and returns its name for the next run. */
    storeFileList: checked([jobFileList], async (run): Promise<{ list?: string | undefined }> => {
      const { type, job } = await find(run);
      return { list: await type.storeList?.(deps, job, run) };
    }),

    /** Completes a job, keeps its sum, and returns what operators read besides, in Markdown. */
    finishJob: checked([jobEnd], async ({ sum, ...end }): Promise<{ text?: string }> => {
      const { type, job } = await find(end);
      const text = type.finish && (await heartbeatWhile(type.finish(deps, job, sum, end)));
      await storeSum(deps, job, sum);
      return text === undefined ? {} : { text };
    }),
  };
}

/**
 * Makes a step while its workflow has the lock. While another one has it, throws a failure that
 * Temporal retries later: operators see the id of that workflow with the pending activity. A step
 * that fails gives the lock up, so that a run which fails again and again holds up no other one.
 */
async function withScanLock<T>(
  deps: Deps,
  { programId, kind }: JobName,
  step: () => Promise<T>,
): Promise<T> {
  const { workflowExecution } = activityInfo();
  const scan = { programId, kind, workflowId: workflowExecution?.workflowId ?? "" };
  const other = await takeScanLock(deps, scan);
  if (other !== undefined) {
    const message = `waits until ${other} has ended: one of its kind runs in a program at a time`;
    throw expected("SCAN_LOCKED", message, steps.scanLockedMs);
  }
  try {
    return await step();
  } catch (error) {
    await releaseScanLock(deps, scan).catch(() => undefined);
    throw error;
  }
}
