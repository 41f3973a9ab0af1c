/** How the rules of a program change: proposed, approved by others, in force. */
import { type Approval, type Caller, isSameSubject } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { type BulkRules, defaultBulkRules, strictestApprovals } from "./bulk-rules.ts";
import { lengthen, newestLifetime, noticesOf, type Program, setNotices } from "./program.ts";
import { isDelayed, isSameRules, type ProgramRules } from "./program-rules.ts";

/**
 * One change of the rules. The latest change of a program has the rules in force: `from` until the
 * change takes effect, then `to`. Without any change they are what the program was created with and
 * the default rules for bulk grants.
 */
export interface RuleChange {
  /** Counts from 1; the rules that a program was created with have number 0. */
  readonly number: number;
  readonly from: ProgramRules;
  readonly to: ProgramRules;
  readonly proposer: Caller;
  readonly proposeTime: Instant;
  /** Why it was proposed; may be empty. */
  readonly reason: string;
  /** As many as the strictest tier of `from` needs. */
  readonly requiredApprovalCount: number;
  readonly approvals: readonly Approval[];
  /** When it took effect; absent while approvals are missing. */
  readonly effectiveTime?: Instant | undefined;
  /** Present when it never takes effect: by whom it was ended, when and why. */
  readonly end?: RuleChangeEnd | undefined;
}

/** The end of a change that never takes effect; the reason may be empty. */
export interface RuleChangeEnd extends Approval {
  readonly state: "REJECTED" | "REPLACED";
}

export type RuleChangeState = "PROPOSED" | "IN_FORCE" | RuleChangeEnd["state"];

/** Returns the state of a change. */
export const ruleChangeState = ({ effectiveTime, end }: RuleChange): RuleChangeState =>
  end ? end.state : effectiveTime === undefined ? "PROPOSED" : "IN_FORCE";

/** Returns the rules that a change leaves in force. */
const rulesAfter = (change: RuleChange): ProgramRules =>
  ruleChangeState(change) === "IN_FORCE" ? change.to : change.from;

/** Returns the rules for bulk grants in force, by the latest change. */
export const bulkRulesAfter = (latest: RuleChange | undefined): BulkRules =>
  latest ? rulesAfter(latest).bulkRules : defaultBulkRules;

/** What of a program its rules are read from. */
type ProgramState = Pick<Program, "lifetimes" | "notices">;

/** Returns the rules of a program in force, by its latest change. */
const rulesOf = (program: ProgramState, latest: RuleChange | undefined): ProgramRules => ({
  lifetimeMonths: newestLifetime(program).lifetimeMonths,
  notices: noticesOf(program),
  bulkRules: bulkRulesAfter(latest),
});

/** From when on the last approval of a change is accepted. */
export const finalApprovalTime = ({ from, to, proposeTime }: RuleChange): Instant =>
  proposeTime + (isDelayed(from, to) ? from.bulkRules.loweringDelayMs : 0);

/** Who wants a change or decides about it, and why; the reason may be empty. */
type Decider = Omit<Approval, "time">;

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
  program: ProgramState,
  before: RuleChange | undefined,
  changes: Partial<ProgramRules>,
  { caller: proposer, reason }: Decider,
  now: Instant,
): Proposed | undefined {
  const from = rulesOf(program, before);
  const to = { ...from, ...changes };
  const open = before && ruleChangeState(before) === "PROPOSED" ? before : undefined;
  if (isSameRules(to, from) || (open && isSameRules(to, open.to))) return undefined;
  const requiredApprovalCount = strictestApprovals(from.bulkRules);
  const latest: RuleChange = {
    number: (before?.number ?? 0) + 1,
    from,
    to,
    proposer,
    proposeTime: now,
    reason,
    requiredApprovalCount,
    approvals: [],
    effectiveTime: requiredApprovalCount === 0 ? now : undefined,
  };
  const end = { state: "REPLACED", caller: proposer, time: now, reason: "" } as const;
  const earlier = open ? { ...open, end } : before;
  return { latest, earlier };
}

/** Refuses a change that shortens the lifetime, by WRONG_STATE. */
export function refuseShorter({ from, to }: RuleChange): void {
  if (to.lifetimeMonths >= from.lifetimeMonths) return;
  throw new DomainError("WRONG_STATE", "a lifetime can be lengthened, never shortened", {
    lifetime_months: String(from.lifetimeMonths),
  });
}

/** The rules that a program is created with are in force at once: nobody has points in it yet. */
export function firstRules(
  program: ProgramState,
  bulkRules: BulkRules,
  proposer: Caller,
  now: Instant,
): RuleChange {
  const from = rulesOf(program, undefined);
  return {
    number: 0,
    from,
    to: { ...from, bulkRules },
    proposer,
    proposeTime: now,
    reason: "",
    requiredApprovalCount: 0,
    approvals: [],
    effectiveTime: now,
  };
}

/**
 * Adds an approval. The last one that is needed puts the change in force. One that this person has
 * given before changes nothing. Refusals: WRONG_STATE, also while the last one is too early, and
 * SELF_APPROVAL.
 */
export function approveRules(change: RuleChange, decider: Decider, now: Instant): RuleChange {
  const { proposer, requiredApprovalCount } = change;
  if (change.approvals.some(({ caller }) => isSameSubject(caller, decider.caller))) return change;
  const state = ruleChangeState(change);
  if (state !== "PROPOSED") throw wrongState(state, "approved");
  if (isSameSubject(proposer, decider.caller))
    throw new DomainError("SELF_APPROVAL", "the proposer cannot approve the rules");
  const approvals = [...change.approvals, { ...decider, time: now }];
  if (approvals.length < requiredApprovalCount) return { ...change, approvals };
  const final = finalApprovalTime(change);
  if (now < final) {
    const time = new Date(final).toISOString();
    throw new DomainError("WRONG_STATE", `its last approval is accepted from ${time} on`, {
      state,
    });
  }
  return { ...change, approvals, effectiveTime: now };
}

/** Rejects a proposal. One that was rejected does not change. Refusal: WRONG_STATE. */
export function rejectRules(change: RuleChange, decider: Decider, now: Instant): RuleChange {
  const state = ruleChangeState(change);
  if (state === "REJECTED") return change;
  if (state !== "PROPOSED") throw wrongState(state, "rejected");
  return { ...change, end: { state: "REJECTED", ...decider, time: now } };
}

/**
 * Returns the program with the lifetime and the notices of a change that has just taken effect; the
 * same program if it has not.
 */
export function withRules(program: Program, change: RuleChange, now: Instant): Program {
  if (ruleChangeState(change) !== "IN_FORCE") return program;
  const { lifetimeMonths, notices } = change.to;
  return setNotices(lengthen(program, lifetimeMonths, now), notices);
}

const wrongState = (state: RuleChangeState, verb: string) =>
  new DomainError("WRONG_STATE", `a change of rules that is ${state} cannot be ${verb}`, { state });
