/** The workflows of jobs over all accounts of a program, and the kinds of jobs. */
import { endsRunOnly } from "../../platform/contract/how-to-end.ts";
import type { SnakeCased } from "../../platform/contract/payload-names.ts";
import type { JobName, JobRequest } from "../rules/jobs.ts";
import type { JobEnd, JobStepInput, SegmentLeft } from "./payloads.ts";

/**
 * A kind of job, as its workflow knows it. What crosses Temporal is spelled in snake_case. The step
 * that reads accounts is in `use-cases/jobs`.
 */
export interface JobKind<Sum extends object = object, Request extends JobRequest = JobRequest> {
  /** Names the kind in workflow ids, keys and locks. Never changes. */
  readonly name: string;
  readonly workflowType: string;
  /** The number of disjoint segments of the table that are scanned concurrently. */
  readonly segments: number;
  /** Whether it begins when no entry of the instant of its call can be added any more. */
  readonly waitsForEntries?: true | undefined;
  /** The sum over no account, to which `addCounts` adds those of the steps. */
  readonly nothing: SnakeCased<Sum>;
  /** Says to operators what was found so far. */
  sentence(sum: SnakeCased<Sum>, request: SnakeCased<Request>): string;
}

export const jobWorkflowId = ({ kind, programId, jobId }: JobName): string =>
  `${kind}/${programId}/${jobId}`;

export const jobHowToEnd = endsRunOnly("the same command with the same arguments starts it again");

/** The query for the sum so far. */
export const jobQuery = "sum";

/** Starts the workflow of a job. */
export interface JobRunInput extends Omit<JobStepInput, "kind"> {
  /** Set by continue-as-new. */
  readonly so_far?: JobProgress | undefined;
}

/**
 * The results of the runs before this one, and the segments that they have left. Their files are in
 * the list that is named, because a payload takes 2 MB.
 */
interface JobProgress extends Pick<JobEnd, "sum" | "list"> {
  readonly request: object;
  readonly left: readonly SegmentLeft[];
}

/** The sum of a step. At the end of the segment there is no cursor. */
export interface JobSegmentResult {
  readonly cursor?: string | undefined;
  /** A file of the step, which belongs to the job only by this answer. */
  readonly file?: object | undefined;
  readonly sum: object;
}
