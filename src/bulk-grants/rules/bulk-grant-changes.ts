/** The rules for changing the record of a bulk grant. */

import { asService, type Caller, isSameSubject } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { lateEntriesMs } from "../../points/rules/ledger.ts";
import {
  type Action,
  type ActionName,
  type ApprovalTimes,
  activeStates,
  type BulkGrant,
  type BulkGrantState,
  type CheckCounts,
  isRecountDue,
  type Revision,
  type RunCounts,
} from "./bulk-grant.ts";
import type { SheetWarning } from "./sheet-warning.ts";
import type { TierPoints } from "./tier-points.ts";

/** The states in which a new revision can be submitted. */
const replaceable: ReadonlySet<BulkGrantState> = new Set([
  "INVALID",
  "REJECTED",
  "CANCELLED",
  "DONE_WITH_FAILURES",
]);

/** Who changes a bulk grant, and why; the reason may be empty. */
export interface ChangeRequest {
  readonly caller: Caller;
  readonly reason: string;
}

const maxActions = 20;

/** A revision before it has a number, and why it is submitted. */
type NewRevision = Omit<Revision, "number" | "digest"> & { readonly reason?: string | undefined };

/**
 * Returns the record after a submission, or the same record if `earlierRevision` has the same
 * content, even if that has been replaced: the answer of its upload may have been lost. A
 * submission that names the current revision as the one that it replaces becomes the next one
 * whatever content it has: accounts may have been unfrozen, or approvers have changed their minds.
 * Refusals: ID_REUSED when it was submitted by a reversal and now is not, or the other way round,
 * and for a request of other content, which has no next revision; WRONG_STATE in a state that has
 * no next revision, or when `replacedRevision` is not the current one.
 */
export function submit(
  existing: BulkGrant | undefined,
  name: { readonly programId: string; readonly bulkGrantId: string },
  { reason = "", ...revision }: NewRevision,
  replacedRevision: number | undefined,
  earlierRevision: number | undefined,
  digestOf: (number: number) => string,
  { reminderMs, expiryMs }: ApprovalTimes,
): BulkGrant {
  const { submitter: caller, starter, submitTime: time } = revision;
  const current = existing?.revision.number ?? 0;
  const isNext = replacedRevision === current;
  if (existing && !isNext && earlierRevision !== undefined) return existing;
  if (replacedRevision !== undefined && !isNext) {
    throw new DomainError("WRONG_STATE", `the current revision is ${current}`, {
      revision: String(current),
    });
  }
  if (existing && existing.revision.reversedBulkGrantId !== revision.reversedBulkGrantId) {
    throw new DomainError(
      "ID_REUSED",
      "this bulk_grant_id was used for another kind of bulk grant",
    );
  }
  if (existing?.revision.request || (existing && revision.request)) {
    throw new DomainError("ID_REUSED", "this bulk_grant_id was used for another request or sheet");
  }
  if (existing && !replaceable.has(existing.state)) throw wrongState(existing, "replaced");
  const number = current + 1;
  const grantedBefore = (existing?.grantedBefore ?? 0) + (existing?.result?.grantedPoints ?? 0);
  return {
    ...name,
    ...(grantedBefore > 0 && { grantedBefore }),
    state: "VALIDATING",
    revision: { ...revision, number, digest: digestOf(number) },
    createTime: existing?.createTime ?? time,
    updateTime: time,
    approvals: [],
    remindTime: time + reminderMs,
    expireTime: time + expiryMs,
    run: existing?.run ?? 0,
    ...withAction(existing, {
      action: "SUBMIT",
      revision: number,
      caller,
      ...(starter && { starter }),
      time,
      reason,
    }),
  };
}

/**
 * The points that a bulk grant has granted and will have granted in all its revisions. More than
 * the sheet has, when the sheet leaves out rows that an earlier revision has granted.
 */
export const campaignPoints = (
  { revision, grantedBefore = 0 }: Pick<BulkGrant, "revision" | "grantedBefore">,
  { alreadyGrantedPoints }: CheckCounts,
): number => revision.totalPoints + Math.max(grantedBefore - alreadyGrantedPoints, 0);

/** The limits of a revision by the program's rules, and its points that the tiers count. */
export interface ValidatedLimits {
  readonly limits: Pick<Revision, "requiredApprovalCount" | "exceededMaxTotalPoints" | "digest">;
  readonly tierPoints?: TierPoints;
  /** Absent when the rules refuse no warning of the revision. */
  readonly refusedWarnings?: readonly SheetWarning[];
}

/** Whether the current revision has ended and none of its rows was sent to be granted. */
export const hasNeverRun = ({ state, startTime }: BulkGrant): boolean =>
  startTime === undefined && ["INVALID", "REJECTED", "CANCELLED"].includes(state);

/**
 * Ends the validation of a revision; a record in any other state does not change. `limitsOf`
 * returns the limits of the program's rules for the points of all revisions.
 */
export function endValidation(
  record: BulkGrant,
  revision: number,
  checked: CheckCounts,
  limitsOf: () => ValidatedLimits,
  now: Instant,
): BulkGrant {
  if (record.state !== "VALIDATING" || record.revision.number !== revision) return record;
  const { limits, tierPoints, refusedWarnings } = limitsOf();
  const { tierPoints: _, ...rest } = record;
  const isValid =
    checked.invalidCount === 0 &&
    limits.exceededMaxTotalPoints === undefined &&
    refusedWarnings === undefined;
  const approved = limits.requiredApprovalCount === 0 ? "APPROVED" : "AWAITING_APPROVAL";
  return {
    ...rest,
    ...(tierPoints && { tierPoints }),
    ...(refusedWarnings && { refusedWarnings }),
    revision: { ...record.revision, ...limits },
    checked,
    state: isValid ? approved : "INVALID",
    updateTime: now,
  };
}

/**
 * Adds an approval. One that this person has given before changes nothing. People are compared by
 * subject, so one who calls through two services is one person. `requiredNow` is how many approvals
 * the rules in force want; they hold if they became stricter while it waited. Refusals:
 * DIGEST_MISMATCH, WRONG_STATE, SELF_APPROVAL.
 */
export function approve(
  record: BulkGrant,
  digest: string,
  request: ChangeRequest,
  now: Instant,
  requiredNow: number,
): BulkGrant {
  const { revision, approvals, raisedApprovalCount: _, ...rest } = record;
  requireDigest(revision, digest);
  if (approvals.some(({ caller }) => isSameSubject(caller, request.caller))) return record;
  if (record.state !== "AWAITING_APPROVAL" || record.cancelRequest)
    throw wrongState(record, "approved");
  if (isSameSubject(request.caller, revision.submitter)) {
    throw new DomainError("SELF_APPROVAL", "the submitter cannot approve the bulk grant");
  }
  if (revision.starter && isSameSubject(request.caller, revision.starter)) {
    throw new DomainError("SELF_APPROVAL", "who started its run cannot approve the bulk grant");
  }
  const all = [...approvals, { ...request, time: now }];
  const required = Math.max(revision.requiredApprovalCount, requiredNow);
  return {
    ...acted({ ...rest, revision, approvals: all }, "APPROVE", request, now),
    ...(required > revision.requiredApprovalCount && { raisedApprovalCount: required }),
    ...(all.length >= required && { state: "APPROVED" }),
  };
}

/** Refuses a decision about another revision than the current one by DIGEST_MISMATCH. */
function requireDigest({ number, digest: current }: Revision, digest: string): void {
  if (digest === current) return;
  throw new DomainError("DIGEST_MISMATCH", `revision ${number} has another digest`, {
    revision: String(number),
  });
}

/**
 * Rejects what awaits approval, if it has this digest; without one, whatever is current. A rejected
 * one does not change. Refusals: DIGEST_MISMATCH, WRONG_STATE.
 */
export function reject(
  record: BulkGrant,
  request: ChangeRequest,
  now: Instant,
  digest?: string | undefined,
): BulkGrant {
  if (digest !== undefined) requireDigest(record.revision, digest);
  if (record.state === "REJECTED") return record;
  if (record.state !== "AWAITING_APPROVAL") throw wrongState(record, "rejected");
  return { ...acted(record, "REJECT", request, now), state: "REJECTED", endTime: now };
}

/**
 * Cancels at once what has not started. A running one is cancelled when the rows under way are
 * done. A cancelled one does not change. Refusal: WRONG_STATE.
 */
export function cancel(record: BulkGrant, request: ChangeRequest, now: Instant): BulkGrant {
  if (record.state === "CANCELLED" || record.cancelRequest) return record;
  if (record.state === "RUNNING") {
    const changed = acted(record, "CANCEL", request, now);
    return { ...changed, cancelRequest: changed.actions.at(-1) as Action };
  }
  if (!activeStates.includes(record.state)) throw wrongState(record, "cancelled");
  const { pause: _, ...rest } = acted(record, "CANCEL", request, now);
  return { ...rest, state: "CANCELLED", endTime: now };
}

/** Pauses an approved or running one. A paused one does not change. Refusal: WRONG_STATE. */
export function pause(record: BulkGrant, request: ChangeRequest, now: Instant): BulkGrant {
  if (record.pause) return record;
  if (record.state !== "APPROVED" && record.state !== "RUNNING") throw wrongState(record, "paused");
  const changed = acted(record, "PAUSE", request, now);
  return { ...changed, pause: changed.actions.at(-1) as Action };
}

/** Ends a pause. One without a pause does not change. */
export function resume(record: BulkGrant, request: ChangeRequest, now: Instant): BulkGrant {
  if (!record.pause) return record;
  const { pause: _, ...rest } = record;
  return acted(rest, "RESUME", request, now);
}

/** Runs the failed rows again. A running one does not change. Refusal: WRONG_STATE. */
export function retry(record: BulkGrant, request: ChangeRequest, now: Instant): BulkGrant {
  if (record.state === "RUNNING") return record;
  if (record.state !== "DONE_WITH_FAILURES") throw wrongState(record, "retried");
  const changed = acted(record, "RETRY", request, now);
  const { endTime: _, report: __, failedRowsAt: ___, ...rest } = changed;
  return { ...rest, state: "RUNNING", run: record.run + 1 };
}

/** Cancels what was not approved in time; any other record does not change. */
export function expire(record: BulkGrant, now: Instant): BulkGrant {
  if (record.state !== "AWAITING_APPROVAL" || now < record.expireTime) return record;
  const request = { caller: asService("meguri"), reason: "not approved in time" };
  return { ...acted(record, "EXPIRE", request, now), state: "CANCELLED", endTime: now };
}

/** Starts the run of what is approved and due; any other record does not change. */
export function start(record: BulkGrant, now: Instant): BulkGrant {
  if (record.state !== "APPROVED" || record.pause || now < (record.revision.executeTime ?? 0))
    return record;
  return { ...record, state: "RUNNING", run: record.run + 1, startTime: now, updateTime: now };
}

/**
 * Ends a run; a record that is not in this run does not change. The counts of a cancelled run are
 * final after `lateEntriesMs`.
 */
export function finish(record: BulkGrant, run: number, result: RunCounts, now: Instant): BulkGrant {
  if (record.state !== "RUNNING" || record.run !== run) return record;
  const { cancelRequest, pause: _, ...rest } = record;
  const ended = { ...rest, result, endTime: now, updateTime: now };
  if (cancelRequest && result.notRunCount > 0) {
    return { ...ended, state: "CANCELLED", countsFinalTime: now + lateEntriesMs };
  }
  return { ...ended, state: result.failedCount > 0 ? "DONE_WITH_FAILURES" : "DONE" };
}

/**
 * Takes the final counts of a cancelled run, which have to be made when they are due; any other
 * record does not change. If rows were granted meanwhile, the outcome is reported once more.
 */
export function recount(
  record: BulkGrant,
  run: number,
  result: RunCounts,
  now: Instant,
): BulkGrant {
  if (!isRecountDue(record, now) || record.run !== run) return record;
  const { countsFinalTime: _, ...final } = record;
  if (result.grantedCount === record.result?.grantedCount) return { ...final, updateTime: now };
  const { report: __, failedRowsAt: ___, ...unreported } = final;
  return { ...unreported, result, updateTime: now };
}

function acted(
  record: BulkGrant,
  action: ActionName,
  request: ChangeRequest,
  now: Instant,
): BulkGrant {
  const done: Action = { action, revision: record.revision.number, ...request, time: now };
  return { ...record, updateTime: now, ...withAction(record, done) };
}

const withAction = (
  { actions, actionCount }: Pick<BulkGrant, "actions" | "actionCount"> = {
    actions: [],
    actionCount: 0,
  },
  action: Action,
) => ({ actions: [...actions, action].slice(-maxActions), actionCount: actionCount + 1 });

const wrongState = ({ state }: BulkGrant, verb: string) =>
  new DomainError("WRONG_STATE", `a bulk grant that is ${state} cannot be ${verb}`, { state });
