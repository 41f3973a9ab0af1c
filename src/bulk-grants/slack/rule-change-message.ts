/** Writes in Slack's mrkdwn what has become of a change of a program's bulk rules. */

import { displayCaller } from "../../platform/words/caller.ts";
import { quantity } from "../../platform/words/quantities.ts";
import type { RuleChangeReport } from "../../points/ports/programs.ts";
import { type RuleChangeState, ruleChangeState } from "../../points/rules/bulk-rule-changes.ts";
import { type BulkRules, isLowering } from "../../points/rules/bulk-rules.ts";
import { points, whoOf } from "../rules/bulk-grant-text.ts";
import { mrkdwn } from "./mrkdwn.ts";

const { value, code, time: dateOf } = mrkdwn;

const titles: Readonly<Record<RuleChangeState, string>> = {
  PROPOSED: "New bulk rules await approval",
  WAITING: "New bulk rules are approved",
  IN_FORCE: "New bulk rules are in force",
  REJECTED: "New bulk rules are rejected",
  CANCELLED: "New bulk rules are cancelled",
  REPLACED: "New bulk rules are replaced",
};

/** Returns the text. Every value in it is escaped, so that none is a command. */
export function ruleChangeMessage({ programId, change, time }: RuleChangeReport): string {
  const { from, to, approvals, effectiveTime, end, requiredApprovalCount } = change;
  const state = ruleChangeState(change, time);
  const isOpen = state === "PROPOSED";
  return [
    `*${titles[state]}*`,
    `Change ${change.number} of ${code(programId)}`,
    `Before: ${rulesText(from)}`,
    `After: ${rulesText(to)}`,
    ...(isLowering(from, to) ? ["It lowers the rules."] : []),
    `Proposed by ${value(displayCaller(change.proposer))}`,
    ...approvals.map((approval) => `Approved by ${whoOf(approval, mrkdwn)}`),
    ...(isOpen ? [`${approvals.length} of ${quantity(requiredApprovalCount, "approval")}`] : []),
    ...(state === "WAITING" && effectiveTime !== undefined
      ? [`In force from ${dateOf(effectiveTime)}, unless somebody cancels it`]
      : []),
    ...(end ? [`Ended by ${whoOf(end, mrkdwn)}`] : []),
  ].join("\n");
}

/** The rules in one line, the tiers by rising totals. */
function rulesText(rules: BulkRules): string {
  const { maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount, sources } = rules;
  const approvals = [
    ...tiers.map((tier) => `${tier.requiredApprovalCount} up to ${points(tier.maxTotalPoints)}`),
    `${requiredApprovalCount}${tiers.length > 0 ? " above" : ""}`,
  ];
  return [
    `at most ${points(maxPointsPerRow)} a row and ${points(maxTotalPoints)} in all`,
    `approvals ${approvals.join(", ")}`,
    `sources ${sources.length > 0 ? value(sources.join(", ")) : "none"}`,
    `lowering after ${rules.loweringDelayMs / 60_000} min`,
  ].join("; ");
}
