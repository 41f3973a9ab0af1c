/** The rules for changing the record of a bulk grant. */
import {
  type Action,
  type ActionName,
  type ApprovalTimes,
  activeStates,
  type BulkGrant,
  type BulkGrantState,
  type CheckCounts,
  type Revision,
  type RunCounts,
} from "./bulk-grant.ts";
import { asService, type Caller, isSameSubject } from "./caller.ts";
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";

/** The states in which a new revision can be submitted. */
const replaceable: ReadonlySet<BulkGrantState> = new Set([
  "INVALID",
  "REJECTED",
  "CANCELLED",
  "DONE_WITH_FAILURES",
]);

/** Who changes a bulk grant, and why; the note may be empty. */
export interface Actor {
  readonly by: Caller;
  readonly note: string;
}

const maxActions = 20;

/**
 * Returns the record after a submission, or the same record if its current revision has the same
 * content. A submission that names the current revision as the one that it replaces becomes the
 * next one even with the same content: accounts may have been unfrozen, or approvers have changed
 * their minds. Refusals: ID_REUSED when it was submitted by a reversal and now is not, or the other
 * way round; WRONG_STATE in a state that has no next revision, or when `replaces` is not current.
 */
export function submit(
  existing: BulkGrant | undefined,
  name: { readonly programId: string; readonly bulkGrantId: string },
  revision: Omit<Revision, "number" | "digest">,
  replaces: number | undefined,
  digestOf: (number: number) => string,
  { reminderMs, expiryMs }: ApprovalTimes,
): BulkGrant {
  const { submitter: by, submitTime: time } = revision;
  const current = existing?.revision.number ?? 0;
  const isNext = replaces !== undefined && replaces === current;
  if (existing && !isNext && isSameContent(existing.revision, revision)) return existing;
  if (replaces !== undefined && !isNext) {
    throw new DomainError("WRONG_STATE", `the current revision is ${current}`, {
      revision: String(current),
    });
  }
  if (existing && existing.revision.reverses !== revision.reverses) {
    throw new DomainError(
      "ID_REUSED",
      "this bulk_grant_id was used for another kind of bulk grant",
    );
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

/**
 * The points that a bulk grant has granted and will have granted in all its revisions. More than
 * the sheet has, when the sheet leaves out rows that an earlier revision has granted.
 */
export const campaignPoints = (
  { revision, grantedBefore = 0 }: Pick<BulkGrant, "revision" | "grantedBefore">,
  { alreadyGrantedPoints }: CheckCounts,
): number => revision.totalPoints + Math.max(grantedBefore - alreadyGrantedPoints, 0);

/**
 * Ends the validation of a revision; a record in any other state does not change. `limits` are what
 * the program's rules say about the points of all revisions.
 */
export function endValidation(
  row: BulkGrant,
  revision: number,
  checked: CheckCounts,
  limits: Pick<Revision, "requiredApprovals" | "exceededCap" | "digest">,
  now: Instant,
): BulkGrant {
  if (row.state !== "VALIDATING" || row.revision.number !== revision) return row;
  const isValid = checked.invalid === 0 && limits.exceededCap === undefined;
  const approved = limits.requiredApprovals === 0 ? "APPROVED" : "AWAITING_APPROVAL";
  return {
    ...row,
    revision: { ...row.revision, ...limits },
    checked,
    state: isValid ? approved : "INVALID",
    updateTime: now,
  };
}

/**
 * Adds an approval. One that this person has given before changes nothing. People are compared by
 * subject, so one who calls through two services is one person. Refusals: DIGEST_MISMATCH,
 * WRONG_STATE, SELF_APPROVAL.
 */
export function approve(row: BulkGrant, digest: string, actor: Actor, now: Instant): BulkGrant {
  const { revision, approvals } = row;
  if (digest !== revision.digest) {
    throw new DomainError("DIGEST_MISMATCH", `revision ${revision.number} has another digest`, {
      revision: String(revision.number),
    });
  }
  if (approvals.some(({ by }) => isSameSubject(by, actor.by))) return row;
  if (row.state !== "AWAITING_APPROVAL" || row.cancelRequest) throw wrongState(row, "approved");
  if (isSameSubject(actor.by, revision.submitter)) {
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
  const actor = { by: asService("meguri"), note: "not approved in time" };
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

function acted(row: BulkGrant, action: ActionName, actor: Actor, now: Instant): BulkGrant {
  const done: Action = { action, revision: row.revision.number, ...actor, time: now };
  return { ...row, updateTime: now, actions: withAction(row.actions, done) };
}

const withAction = (actions: readonly Action[], action: Action): Action[] =>
  [...actions, action].slice(-maxActions);

const wrongState = ({ state }: BulkGrant, verb: string) =>
  new DomainError("WRONG_STATE", `a bulk grant that is ${state} cannot be ${verb}`, { state });
