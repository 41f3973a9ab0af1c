/** How the rules of a program for bulk grants change: proposed, approved by others, in force. */
import { type Approval, type Caller, isSameSubject } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import {
  type BulkRules,
  defaultBulkRules,
  isLowering,
  isSameRules,
  strictestApprovals,
} from "./bulk-rules.ts";

/**
 * One change of the rules. The latest change of a program has the rules in force: `from` until the
 * change takes effect, then `to`. Without any change the default rules are in force.
 */
export interface RuleChange {
  /** Counts from 1; the rules that a program was created with have number 0. */
  readonly number: number;
  readonly from: BulkRules;
  readonly to: BulkRules;
  readonly proposer: Caller;
  readonly proposeTime: Instant;
  /** As many as the strictest tier of `from` needs. */
  readonly requiredApprovalCount: number;
  readonly approvals: readonly Approval[];
  /** From when on it is in force; absent while approvals are missing. */
  readonly effectiveTime?: Instant | undefined;
  /** Present when it never takes effect: by whom it was ended, when and why. */
  readonly end?: RuleChangeEnd | undefined;
}

/** The end of a change that never takes effect; the reason may be empty. */
export interface RuleChangeEnd extends Approval {
  readonly state: "REJECTED" | "CANCELLED" | "REPLACED";
}

/** One that is WAITING has its approvals, and takes effect later because it lowers the rules. */
export type RuleChangeState =
  | "PROPOSED"
  | "WAITING"
  | "IN_FORCE"
  | "REJECTED"
  | "CANCELLED"
  | "REPLACED";

/** Returns the state of a change at `now`. Only a change that lowers the rules depends on it. */
export function ruleChangeState(
  { from, to, effectiveTime, end }: RuleChange,
  now: Instant,
): RuleChangeState {
  if (end) return end.state;
  if (effectiveTime === undefined) return "PROPOSED";
  return now < effectiveTime && isLowering(from, to) ? "WAITING" : "IN_FORCE";
}

/** Returns the rules in force at `now`, by the latest change. */
export function rulesAt(latest: RuleChange | undefined, now: Instant): BulkRules {
  if (!latest) return defaultBulkRules;
  return ruleChangeState(latest, now) === "IN_FORCE" ? latest.to : latest.from;
}

const isOpen = (change: RuleChange, now: Instant): boolean =>
  ["PROPOSED", "WAITING"].includes(ruleChangeState(change, now));

/** A proposal, and what becomes of the change before it. */
export interface Proposed {
  readonly latest: RuleChange;
  readonly earlier?: RuleChange | undefined;
}

/**
 * Proposes rules. Where the strictest tier in force needs nobody, they are in force at once. A
 * change that is not in force yet is replaced, with its approvals. Undefined when these rules are
 * in force, or proposed already.
 */
export function proposeRules(
  before: RuleChange | undefined,
  to: BulkRules,
  proposer: Caller,
  now: Instant,
): Proposed | undefined {
  const from = rulesAt(before, now);
  const open = before && isOpen(before, now) ? before : undefined;
  if (isSameRules(to, from) || (open && isSameRules(to, open.to))) return undefined;
  const requiredApprovalCount = strictestApprovals(from);
  const latest: RuleChange = {
    number: (before?.number ?? 0) + 1,
    from,
    to,
    proposer,
    proposeTime: now,
    requiredApprovalCount,
    approvals: [],
    effectiveTime: requiredApprovalCount === 0 ? now : undefined,
  };
  const end = { state: "REPLACED", caller: proposer, time: now, reason: "" } as const;
  const earlier = open ? { ...open, end } : before;
  return { latest, earlier };
}

/** The rules that a program is created with are in force at once: nobody has points in it yet. */
export const firstRules = (to: BulkRules, proposer: Caller, now: Instant): RuleChange => ({
  number: 0,
  from: defaultBulkRules,
  to,
  proposer,
  proposeTime: now,
  requiredApprovalCount: 0,
  approvals: [],
  effectiveTime: now,
});

/** Who decides about a change, and why; the reason may be empty. */
type DecisionRequest = Omit<Approval, "time">;

/**
 * Adds an approval. The last one that is needed puts the change in force: at once, or after the
 * delay of the rules before if it lowers them. One that this person has given before changes
 * nothing. Refusals: WRONG_STATE, SELF_APPROVAL.
 */
export function approveRules(
  change: RuleChange,
  request: DecisionRequest,
  now: Instant,
): RuleChange {
  const { from, to, proposer, requiredApprovalCount } = change;
  if (change.approvals.some(({ caller }) => isSameSubject(caller, request.caller))) return change;
  const state = ruleChangeState(change, now);
  if (state !== "PROPOSED") throw wrongState(state, "approved");
  if (isSameSubject(proposer, request.caller))
    throw new DomainError("SELF_APPROVAL", "the proposer cannot approve the rules");
  const approvals = [...change.approvals, { ...request, time: now }];
  if (approvals.length < requiredApprovalCount) return { ...change, approvals };
  return {
    ...change,
    approvals,
    effectiveTime: isLowering(from, to) ? now + from.loweringDelayMs : now,
  };
}

/**
 * Rejects a proposal, or cancels an approved change that waits. One that was rejected or cancelled
 * does not change. Refusal: WRONG_STATE.
 */
export function rejectRules(
  change: RuleChange,
  request: DecisionRequest,
  now: Instant,
): RuleChange {
  const before = ruleChangeState(change, now);
  if (before === "REJECTED" || before === "CANCELLED") return change;
  if (!isOpen(change, now)) throw wrongState(before, "rejected");
  const state = before === "WAITING" ? "CANCELLED" : "REJECTED";
  return { ...change, end: { state, ...request, time: now } };
}

const wrongState = (state: RuleChangeState, verb: string) =>
  new DomainError("WRONG_STATE", `a change of rules that is ${state} cannot be ${verb}`, { state });
