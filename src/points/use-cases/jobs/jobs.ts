/** The use cases that start, finish and read jobs of every kind, and what a kind consists of. */
import pLimit from "p-limit";
import { fieldChanges } from "../../../acts/rules/act.ts";
import { putAct } from "../../../acts/use-cases/acts.ts";
import type { Call } from "../../../platform/ports/call.ts";
import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import { requestHash, requireSameRequest } from "../../../platform/work/idempotency.ts";
import { type JobKind, jobWorkflowId } from "../../contract/jobs.ts";
import type { Deps } from "../../ports/deps.ts";
import { jobRef } from "../../ports/records.ts";
import type { Job, JobName, JobRequest } from "../../rules/jobs.ts";
import type { AccountsCursor } from "../sweep-accounts.ts";

/** One of `segments` disjoint segments of the table. */
export interface Segment {
  readonly segment: number;
  readonly segments: number;
}

/** The result of a step. At the end of the segment there is no cursor. */
export type StepResult<Sum> = Sum & {
  readonly cursor?: string | undefined;
  /** A file that the step has written, which belongs to the job when the step has ended. */
  readonly file?: object | undefined;
};

/** Logs what has happened to a single account or entry. */
export type Warn = (message: string, fields: object) => void;

/** A kind of job: its step, its sum and its sentence. */
export interface JobType<Sum extends object = object, Request extends JobRequest = JobRequest> {
  readonly kind: JobKind<Sum, Request>;
  /** Throws when what a call asks for cannot be done. */
  check?(deps: Deps, job: Job<Sum, Request>): void;
  /** Returns the sum of a job that is complete already; otherwise prepares it. */
  begin?(deps: Deps, job: Job<Sum, Request>): Promise<Sum | undefined>;
  /**
   * Adds the accounts of a segment, from a cursor on, to `start`, until `shouldContinue` returns
   * false: it gets what another call could continue from. An account that fails is counted and
   * named.
   */
  step(
    deps: Deps,
    job: Job<Sum, Request>,
    segment: Segment,
    start: Sum,
    from: AccountsCursor,
    shouldContinue: (progress: Partial<Sum> & AccountsCursor) => boolean,
    warn: Warn,
  ): Promise<StepResult<Sum>>;
  /** Whether a step makes a file, so that it takes longer, and there are fewer of them. */
  readonly makesFiles?: true | undefined;
  /** Stores a list of files, and returns its name. */
  storeList?(deps: Deps, job: Job<Sum, Request>, files: JobFiles): Promise<string>;
  /** Completes the job, and returns the rest of what operators read, in Markdown. */
  finish?(
    deps: Deps,
    job: Job<Sum, Request>,
    sum: Sum,
    files: JobFiles,
  ): Promise<string | undefined>;
}

/** The files of a run of a job, and the name of the list of those of the runs before it. */
export interface JobFiles<File extends object = object> {
  readonly files: readonly File[];
  readonly list?: string | undefined;
}

/** Starts or names a job of a kind. */
export type IdOfJob = Pick<JobName, "programId" | "jobId">;

/** A call that asks for a job. */
interface JobCall<Request> extends IdOfJob, Omit<Call, "validateOnly"> {
  readonly request: Request;
}

/** A job and how far it has come. */
export interface JobRun<Sum = object, Request extends JobRequest = JobRequest>
  extends Job<Sum, Request> {
  readonly workflowId: string;
  readonly state: "RUNNING" | "DONE" | "FAILED";
  /** The sum of what the steps have found so far. */
  readonly sum: Sum;
}

/**
 * Writes the record of a job, then starts its workflow. A repeated call starts the workflow of a
 * job without a result again, unless it is running. Refusals: PROGRAM_NOT_FOUND, ID_REUSED, and
 * those of the kind. Retryable: WORKFLOWS_UNAVAILABLE.
 */
export async function startJob<Sum extends object, Request extends JobRequest>(
  deps: Deps,
  type: JobType<Sum, Request>,
  call: JobCall<Request>,
): Promise<JobRun<Sum, Request> & { readonly replayed: boolean }> {
  const { programId, jobId, request, caller } = call;
  await deps.programs.get(programId);
  const name = { programId, kind: type.kind.name, jobId };
  const hash = requestHash(name.kind, caller, request);
  const { record, isChanged } = await changeRecord(
    deps,
    {
      ref: jobRef(name),
      expectAbsent: true,
      call,
      together: (tx, { wall }) =>
        putAct(tx, call, wall, {
          programId,
          objectType: "job",
          objectId: `${name.kind}/${jobId}`,
          changes: fieldChanges({}, shownRequest(request)),
          reason: "",
        }),
    },
    (existing, { calendar: createTime }): Job => {
      if (existing) return existing;
      const job = { ...name, hash, caller, createTime, request };
      type.check?.(deps, job);
      return job;
    },
  );
  requireSameRequest(record.hash, hash, "job_id");
  if (!record.result) {
    const hasResult = async () => (await readJob(deps, record)).result !== undefined;
    await deps.workflows.startJob(type.kind, record, hasResult);
  }
  return { ...(await runOf(deps, type, record)), replayed: !isChanged };
}

/** What was asked for, with the times in a form that people read: all numbers are times. */
const shownRequest = (request: JobRequest) =>
  Object.fromEntries(
    Object.entries(request).map(([name, value]) => [
      name,
      typeof value === "number" ? new Date(value).toISOString() : value,
    ]),
  );

/** Reads a job. Refusals: PROGRAM_NOT_FOUND, JOB_NOT_FOUND. */
export async function getJob<Sum extends object, Request extends JobRequest>(
  deps: Pick<Deps, "reader" | "programs" | "workflows">,
  type: JobType<Sum, Request>,
  name: IdOfJob,
): Promise<JobRun<Sum, Request>> {
  await deps.programs.get(name.programId);
  return runOf(deps, type, await readJob(deps, { ...name, kind: type.kind.name }));
}

/** Lists jobs by their ids. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a bad cursor. */
export async function listJobs<Sum extends object, Request extends JobRequest>(
  deps: Pick<Deps, "reader" | "programs" | "workflows">,
  type: JobType<Sum, Request>,
  programId: string,
  page: PageRequest,
): Promise<Page<JobRun<Sum, Request>>> {
  await deps.programs.get(programId);
  const { items, ...found } = await deps.reader.jobs(programId, type.kind.name, page);
  const inTurn = pLimit(8);
  const runs = items.map((job) => inTurn(() => runOf(deps, type, job)));
  return { ...found, items: await Promise.all(runs) };
}

/** Reads the record of a job. Refusal: JOB_NOT_FOUND. */
export async function readJob({ reader }: Pick<Deps, "reader">, name: JobName): Promise<Job> {
  const found = await reader.get(jobRef(name));
  if (!found) throw notFound();
  return found.value;
}

/**
 * Keeps the result of a job, in the place of an earlier one: a doubted job is done again. Refusal:
 * JOB_NOT_FOUND.
 */
export async function storeSum(deps: Pick<Deps, "engine">, name: JobName, sum: object) {
  await changeRecord(deps, { ref: jobRef(name) }, (job, { calendar }) => {
    if (!job) throw notFound();
    return { ...job, result: { endTime: calendar, sum } };
  });
}

/** Asks Temporal for the progress of a job without a result. */
async function runOf<Sum extends object, Request extends JobRequest>(
  deps: Pick<Deps, "reader" | "workflows">,
  { kind }: JobType<Sum, Request>,
  found: Job,
): Promise<JobRun<Sum, Request>> {
  const workflowId = jobWorkflowId(found);
  const run = { ...(found as Job<Sum, Request>), workflowId };
  if (run.result) return { ...run, state: "DONE", sum: run.result.sum };
  const { isRunning, sum } = await deps.workflows.jobProgress(kind, found);
  if (isRunning) return { ...run, state: "RUNNING", sum: sum as Sum };
  // It may have been done between the two reads.
  const { result } = (await readJob(deps, found)) as Job<Sum>;
  if (result) return { ...run, result, state: "DONE", sum: result.sum };
  return { ...run, state: "FAILED", sum: sum as Sum };
}

const notFound = () => new DomainError("JOB_NOT_FOUND", "there is no job with this id");
