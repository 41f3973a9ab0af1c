/** Jobs over all accounts of a program: verifications, liability reports and exports of ledgers. */
import type { Caller } from "../../platform/words/caller.ts";
import type { Instant } from "../../platform/words/month.ts";

/** The fields of a call that starts a job. Their hash makes calls with the same id comparable. */
export type JobRequest = Readonly<Record<string, string | number | boolean | undefined>>;

/** Names a job. The ids of each kind of a program are of their own. */
export interface JobName {
  readonly programId: string;
  /** The kind, such as `verify-program`. */
  readonly kind: string;
  readonly jobId: string;
}

/** The record of a job, whose request and sum are those of its kind. */
export interface Job<Sum = object, Request extends JobRequest = JobRequest> extends JobName {
  /** The hash of the request. */
  readonly hash: string;
  /** Who asked for it first. */
  readonly caller: Caller;
  /** When it was asked for. */
  readonly createTime: Instant;
  readonly request: Request;
  /** Absent until all accounts are read. */
  readonly result?: { readonly endTime: Instant; readonly sum: Sum } | undefined;
}

/** An account that failed in a job, with a reason of `words/reasons.ts`. */
export interface FailedAccount {
  readonly userId: string;
  readonly reason: string;
}
