/** The states of a bulk grant, and the rules for changing them. */
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";
import type { RowCode } from "./sheet.ts";

/** A state, as it is stored and as readers get it. */
export type BulkGrantState =
  | "VALIDATING"
  | "INVALID"
  | "AWAITING_APPROVAL"
  | "REJECTED"
  | "APPROVED"
  | "RUNNING"
  | "DONE"
  | "DONE_WITH_FAILURES"
  | "CANCELLED";

/** The states in which a workflow has something to do. */
export const activeStates: readonly BulkGrantState[] = [
  "VALIDATING",
  "AWAITING_APPROVAL",
  "APPROVED",
  "RUNNING",
];

/** The states in which nothing more is done, unless people do something. */
export const finalStates: ReadonlySet<BulkGrantState> = new Set([
  "INVALID",
  "REJECTED",
  "DONE",
  "DONE_WITH_FAILURES",
  "CANCELLED",
]);

/** The states in which a new revision can be submitted. */
const replaceable: ReadonlySet<BulkGrantState> = new Set([
  "INVALID",
  "REJECTED",
  "CANCELLED",
  "DONE_WITH_FAILURES",
]);

/**
 * The record of a bulk grant, a campaign that grants points to many users. State and counts are
 * those of this record; its workflow only follows it.
 */
export interface BulkGrant {
  readonly programId: string;
  readonly bulkGrantId: string;
  readonly state: BulkGrantState;
  /** The current revision of the sheet. */
  readonly revision: Revision;
  readonly createTime: Instant;
  readonly updateTime: Instant;
  /** The result of the validation; absent in VALIDATING. */
  readonly checked?: CheckCounts;
  /** The approvals of the current revision. */
  readonly approvals: readonly Approval[];
  /** When the submitter is reminded, and when the bulk grant is cancelled without approvals. */
  readonly remindTime: Instant;
  readonly expireTime: Instant;
  readonly reminded?: true;
  /** Present while no further row is executed. */
  readonly pause?: Action;
  /** Present when it is to be cancelled as soon as the rows under way are done. */
  readonly cancelRequest?: Action;
  /** The number of runs over the rows so far: 1 for the first, one more for each retry. */
  readonly run: number;
  readonly startTime?: Instant;
  readonly endTime?: Instant;
  /** The result of the run; absent before the first one has ended. */
  readonly result?: RunCounts;
  /** How far the report of the last outcome has come. */
  readonly report?: "SENDING" | "SENT" | "FAILED";
  /** Who did what, the latest 20, oldest first. */
  readonly actions: readonly Action[];
}

/** One revision of the sheet. It never changes. */
export interface Revision {
  readonly number: number;
  /** Names the stored rows. */
  readonly uploadId: string;
  readonly rowCount: number;
  /** The sum over all rows without a problem of their own. */
  readonly totalPoints: number;
  /** SHA-256 of all rows in order, base64url. */
  readonly rowsDigest: string;
  /** SHA-256 over what an approval is about, base64url: see `digestOf` of the use cases. */
  readonly digest: string;
  /** Absent: as soon as it is approved. */
  readonly executeTime?: Instant;
  readonly requiredApprovals: number;
  /** The cap of the program on the sum, when the sum exceeds it. */
  readonly exceededCap?: number;
  readonly submitter: string;
  readonly submitTime: Instant;
  /** The source of the rows, such as a file; absent for an upload. */
  readonly source?: string;
  /** The bulk grant whose grants are revoked; absent for one that grants. */
  readonly reverses?: string;
  /** Another bulk grant of the program with the same rows. */
  readonly sameContentAs?: string;
}

/** The counts of a validation. */
export interface CheckCounts {
  readonly invalid: number;
  readonly alreadyGranted: number;
  readonly alreadyGrantedPoints: number;
}

/** The counts of a run. Granted rows of a reversal are those that were revoked. */
export interface RunCounts {
  readonly granted: number;
  readonly grantedPoints: number;
  readonly failed: number;
  /** Rows that were not executed, because the bulk grant was cancelled. */
  readonly notRun: number;
  readonly failedByCode: Readonly<Partial<Record<RowCode, number>>>;
}

/** An approval; the note may be empty. */
export interface Approval {
  readonly by: string;
  readonly time: Instant;
  readonly note: string;
}

/** Who did what, and when; the note may be empty. */
export interface Action extends Approval {
  readonly action: ActionName;
  readonly revision: number;
}

export type ActionName =
  | "SUBMIT"
  | "APPROVE"
  | "REJECT"
  | "CANCEL"
  | "PAUSE"
  | "RESUME"
  | "RETRY"
  | "EXPIRE";

/** Who changes a bulk grant, and why; the note may be empty. */
export interface Actor {
  readonly by: string;
  readonly note: string;
}

const maxActions = 20;

/** How long the approvals may take, in ms. */
export interface ApprovalTimes {
  readonly reminderMs: number;
  readonly expiryMs: number;
}

/**
 * Returns the record after a submission, or the same record if its current revision has the same
 * content. Refusals: ID_REUSED when it was submitted by a reversal and now is not, or the other way
 * round; WRONG_STATE in a state that has no next revision.
 */
export function submit(
  existing: BulkGrant | undefined,
  name: { readonly programId: string; readonly bulkGrantId: string },
  revision: Omit<Revision, "number" | "digest">,
  digestOf: (number: number) => string,
  { reminderMs, expiryMs }: ApprovalTimes,
): BulkGrant {
  const { submitter: by, submitTime: time } = revision;
  if (existing && isSameContent(existing.revision, revision)) return existing;
  if (existing && existing.revision.reverses !== revision.reverses) {
    throw new DomainError(
      "ID_REUSED",
      "this bulk_grant_id was used for another kind of bulk grant",
    );
  }
  if (existing && !replaceable.has(existing.state)) throw wrongState(existing, "replaced");
  const number = (existing?.revision.number ?? 0) + 1;
  return {
    ...name,
    state: "VALIDATING",
    revision: { ...revision, number, digest: digestOf(number) },
    createTime: existing?.createTime ?? time,
    updateTime: time,
    approvals: [],
    remindTime: time + reminderMs,
    expireTime: time + expiryMs,
    run: existing?.run ?? 0,
    actions: withAction(existing?.actions ?? [], {
      action: "SUBMIT",
      revision: number,
      by,
      time,
      note: "",
    }),
  };
}

/** Whether two submissions would grant the same at the same time. */
const isSameContent = (
  a: Pick<Revision, "rowsDigest" | "executeTime" | "reverses">,
  b: Pick<Revision, "rowsDigest" | "executeTime" | "reverses">,
): boolean =>
  a.rowsDigest === b.rowsDigest && a.executeTime === b.executeTime && a.reverses === b.reverses;

/** Ends the validation of a revision; a record in any other state does not change. */
export function endValidation(
  row: BulkGrant,
  revision: number,
  checked: CheckCounts,
  now: Instant,
): BulkGrant {
  if (row.state !== "VALIDATING" || row.revision.number !== revision) return row;
  const isValid = checked.invalid === 0 && row.revision.exceededCap === undefined;
  const approved = row.revision.requiredApprovals === 0 ? "APPROVED" : "AWAITING_APPROVAL";
  return { ...row, checked, state: isValid ? approved : "INVALID", updateTime: now };
}

/**
 * Adds an approval. One that this approver has given before changes nothing. Refusals:
 * DIGEST_MISMATCH, WRONG_STATE, SELF_APPROVAL.
 */
export function approve(row: BulkGrant, digest: string, actor: Actor, now: Instant): BulkGrant {
  const { revision, approvals } = row;
  if (digest !== revision.digest) {
    throw new DomainError("DIGEST_MISMATCH", `revision ${revision.number} has another digest`, {
      revision: String(revision.number),
    });
  }
  if (approvals.some(({ by }) => by === actor.by)) return row;
  if (row.state !== "AWAITING_APPROVAL" || row.cancelRequest) throw wrongState(row, "approved");
  if (actor.by === revision.submitter) {
    throw new DomainError("SELF_APPROVAL", "the submitter cannot approve the bulk grant");
  }
  const all = [...approvals, { ...actor, time: now }];
  return {
    ...acted(row, "APPROVE", actor, now),
    approvals: all,
    ...(all.length >= revision.requiredApprovals && { state: "APPROVED" }),
  };
}

/** Rejects what awaits approval. A rejected one does not change. Refusal: WRONG_STATE. */
export function reject(row: BulkGrant, actor: Actor, now: Instant): BulkGrant {
  if (row.state === "REJECTED") return row;
  if (row.state !== "AWAITING_APPROVAL") throw wrongState(row, "rejected");
  return { ...acted(row, "REJECT", actor, now), state: "REJECTED", endTime: now };
}

/**
 * Cancels at once what has not started. A running one is cancelled when the rows under way are
 * done. A cancelled one does not change. Refusal: WRONG_STATE.
 */
export function cancel(row: BulkGrant, actor: Actor, now: Instant): BulkGrant {
  if (row.state === "CANCELLED" || row.cancelRequest) return row;
  if (row.state === "RUNNING") {
    const changed = acted(row, "CANCEL", actor, now);
    return { ...changed, cancelRequest: changed.actions.at(-1) as Action };
  }
  if (!activeStates.includes(row.state)) throw wrongState(row, "cancelled");
  const { pause: _, ...rest } = acted(row, "CANCEL", actor, now);
  return { ...rest, state: "CANCELLED", endTime: now };
}

/** Pauses an approved or running one. A paused one does not change. Refusal: WRONG_STATE. */
export function pause(row: BulkGrant, actor: Actor, now: Instant): BulkGrant {
  if (row.pause) return row;
  if (row.state !== "APPROVED" && row.state !== "RUNNING") throw wrongState(row, "paused");
  const changed = acted(row, "PAUSE", actor, now);
  return { ...changed, pause: changed.actions.at(-1) as Action };
}

/** Ends a pause. One without a pause does not change. */
export function resume(row: BulkGrant, actor: Actor, now: Instant): BulkGrant {
  if (!row.pause) return row;
  const { pause: _, ...rest } = row;
  return acted(rest, "RESUME", actor, now);
}

/** Runs the failed rows again. A running one does not change. Refusal: WRONG_STATE. */
export function retryFailedRows(row: BulkGrant, actor: Actor, now: Instant): BulkGrant {
  if (row.state === "RUNNING") return row;
  if (row.state !== "DONE_WITH_FAILURES") throw wrongState(row, "retried");
  const { endTime: _, report: __, ...rest } = acted(row, "RETRY", actor, now);
  return { ...rest, state: "RUNNING", run: row.run + 1 };
}

/** Cancels what was not approved in time; any other record does not change. */
export function expire(row: BulkGrant, now: Instant): BulkGrant {
  if (row.state !== "AWAITING_APPROVAL" || now < row.expireTime) return row;
  const actor = { by: "meguri", note: "not approved in time" };
  return { ...acted(row, "EXPIRE", actor, now), state: "CANCELLED", endTime: now };
}

/** Starts the run of what is approved and due; any other record does not change. */
export function start(row: BulkGrant, now: Instant): BulkGrant {
  if (row.state !== "APPROVED" || row.pause || now < (row.revision.executeTime ?? 0)) return row;
  return { ...row, state: "RUNNING", run: row.run + 1, startTime: now, updateTime: now };
}

/** Ends a run; a record that is not in this run does not change. */
export function finish(row: BulkGrant, run: number, result: RunCounts, now: Instant): BulkGrant {
  if (row.state !== "RUNNING" || row.run !== run) return row;
  const { cancelRequest, pause: _, ...rest } = row;
  const done = result.failed > 0 ? "DONE_WITH_FAILURES" : "DONE";
  const state = cancelRequest && result.notRun > 0 ? "CANCELLED" : done;
  return { ...rest, result, state, endTime: now, updateTime: now };
}

/** What the workflow does next. */
export type BulkGrantStep =
  | "VALIDATE"
  | "AWAIT_APPROVAL"
  | "AWAIT_TIME"
  | "PAUSED"
  | "RUN"
  | "FINISH"
  | "REPORT"
  | "END";

/** Returns what follows from the record. `REPORT` precedes the end of what has an outcome. */
export function nextStep(row: BulkGrant, now: Instant): BulkGrantStep {
  switch (row.state) {
    case "VALIDATING":
      return "VALIDATE";
    case "AWAITING_APPROVAL":
      return "AWAIT_APPROVAL";
    case "APPROVED":
      if (row.pause) return "PAUSED";
      return now < (row.revision.executeTime ?? 0) ? "AWAIT_TIME" : "RUN";
    case "RUNNING":
      if (row.cancelRequest) return "FINISH";
      return row.pause ? "PAUSED" : "RUN";
    default:
      return isReported(row) && row.report !== "SENT" && row.report !== "FAILED" ? "REPORT" : "END";
  }
}

/** Whether people get a report: of every run, and of an invalid sheet that nobody uploaded. */
const isReported = ({ state, result, revision }: BulkGrant): boolean =>
  result !== undefined || (state === "INVALID" && revision.source !== undefined);

function acted(row: BulkGrant, action: ActionName, actor: Actor, now: Instant): BulkGrant {
  const done: Action = { action, revision: row.revision.number, ...actor, time: now };
  return { ...row, updateTime: now, actions: withAction(row.actions, done) };
}

const withAction = (actions: readonly Action[], action: Action): Action[] =>
  [...actions, action].slice(-maxActions);

const wrongState = ({ state }: BulkGrant, verb: string) =>
  new DomainError("WRONG_STATE", `a bulk grant that is ${state} cannot be ${verb}`, { state });
