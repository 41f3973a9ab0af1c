/** The calls that a bulk grant takes in each state, and what the tiers ask for, by the design. */
import type { BulkGrant, BulkGrantState } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { type BulkRules, defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";

/** The states in which a bulk grant gets its next revision. */
export const replaceable: readonly BulkGrantState[] = [
  ...(["INVALID", "REJECTED", "CANCELLED", "DONE_WITH_FAILURES"] as const),
];
export const ends: readonly BulkGrantState[] = [...replaceable, "DONE"];

/** A record, as far as people's changes decide about it. */
export interface Head {
  readonly state: BulkGrantState;
  readonly revision: number;
  readonly submitter: string;
  readonly required: number;
  readonly raised: number | undefined;
  readonly exceeded: number | undefined;
  readonly approvedBy: readonly string[];
  readonly isPaused: boolean;
  readonly isCancelling: boolean;
  readonly run: number;
}

export const headOf = ({ revision, approvals, ...record }: BulkGrant): Head => ({
  state: record.state,
  revision: revision.number,
  submitter: revision.submitter.subject,
  required: revision.requiredApprovalCount,
  raised: record.raisedApprovalCount,
  exceeded: revision.exceededMaxTotalPoints,
  approvedBy: approvals.map(({ caller }) => caller.subject),
  isPaused: record.pause !== undefined,
  isCancelling: record.cancelRequest !== undefined,
  run: record.run,
});

/** A person's change of a bulk grant; without a digest, an approval is of the current revision. */
export interface Command {
  readonly op: "approve" | "reject" | "cancel" | "pause" | "resume" | "retry" | "expire";
  readonly by: string;
  readonly digest?: string | undefined;
}

/**
 * What a change makes of a record: the same head when it changes nothing, or the reason of its
 * refusal. `needed` are the approvals that the rules in force ask for.
 */
export function afterCommand(
  record: BulkGrant,
  { op, by, digest = record.revision.digest }: Command,
  now: number,
  needed: number,
): Head | string {
  const head = headOf(record);
  const { state } = head;
  const isLate = state === "AWAITING_APPROVAL" && now >= record.expireTime;
  switch (op) {
    case "approve":
      if (digest !== record.revision.digest) return "DIGEST_MISMATCH";
      if (head.approvedBy.includes(by)) return isLate ? { ...head, state: "CANCELLED" } : head;
      if (isLate || state !== "AWAITING_APPROVAL") return "WRONG_STATE";
      return by === head.submitter ? "SELF_APPROVAL" : approved(head, by, needed);
    case "reject":
      if (state === "REJECTED") return head;
      return state === "AWAITING_APPROVAL" ? { ...head, state: "REJECTED" } : "WRONG_STATE";
    case "cancel":
      if (state === "CANCELLED" || head.isCancelling) return head;
      if (state === "RUNNING") return { ...head, isCancelling: true };
      if (ends.includes(state)) return "WRONG_STATE";
      return { ...head, state: "CANCELLED", isPaused: false };
    case "pause":
      if (head.isPaused) return head;
      return ["APPROVED", "RUNNING"].includes(state) ? { ...head, isPaused: true } : "WRONG_STATE";
    case "resume":
      return head.isPaused ? { ...head, isPaused: false } : head;
    case "retry":
      if (state === "RUNNING") return head;
      if (state !== "DONE_WITH_FAILURES") return "WRONG_STATE";
      return { ...head, state: "RUNNING", run: head.run + 1 };
    case "expire":
      return isLate ? { ...head, state: "CANCELLED" } : "WRONG_STATE";
  }
}

function approved(head: Head, by: string, needed: number): Head {
  const approvedBy = [...head.approvedBy, by];
  const required = Math.max(head.required, needed);
  return {
    ...head,
    approvedBy,
    raised: required > head.required ? required : undefined,
    state: approvedBy.length >= required ? "APPROVED" : "AWAITING_APPROVAL",
  };
}

interface Counted {
  readonly hour: number;
  readonly required: number;
  readonly points: number;
}

/** The rules in force, and what their tiers count: a list of all revisions of a day. */
export class Tiers {
  rules: BulkRules = defaultBulkRules;
  readonly #current = new Map<string, Counted>();
  #replaced: Counted[] = [];

  /** The approvals that so many points need by themselves. */
  neededFor(points: number): number {
    const { tiers, requiredApprovalCount } = this.rules;
    const tier = tiers.find(({ maxTotalPoints }) => points <= maxTotalPoints);
    return tier?.requiredApprovalCount ?? requiredApprovalCount;
  }

  /**
   * The fewest approvals with which these points, and all that needed as few, are in a tier. No
   * points need nobody on account of other ones.
   */
  neededBeside(name: string, points: number, now: number): number {
    if (points === 0) return this.neededFor(0);
    const others = [...this.#current].flatMap(([other, each]) => (other === name ? [] : [each]));
    const counted = [...this.#replaced, ...others].filter(({ hour }) => hour > hourOf(now) - 24);
    const sumOf = (required: number) =>
      counted.reduce((sum, each) => sum + (each.required <= required ? each.points : 0), points);
    return [0, 1].find((required) => this.neededFor(sumOf(required)) <= required) ?? 2;
  }

  /** Counts the points of the current revision of a campaign, in place of what it had counted. */
  count(name: string, required: number, points: number, now: number): void {
    this.#current.set(name, { hour: hourOf(now), required, points: Math.max(points, 0) });
  }

  /** The current revision has ended without a run. */
  uncount(name: string): void {
    this.#current.delete(name);
  }

  /** A revision is replaced: only what it has granted stays counted. */
  replace(name: string, grantedPoints: number): void {
    const counted = this.#current.get(name);
    const points = Math.min(counted?.points ?? 0, grantedPoints);
    if (counted) this.#replaced.push({ ...counted, points });
    this.#current.delete(name);
  }
}

const hourOf = (time: number): number => Math.floor(time / 3_600_000);
