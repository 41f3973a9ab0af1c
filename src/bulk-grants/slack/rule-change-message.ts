/** Writes in Slack's mrkdwn what has become of a change of a program's rules. */

import { quantity } from "../../platform/words/quantities.ts";
import type { RuleChangeReport } from "../../points/ports/programs.ts";
import type { BulkRules } from "../../points/rules/bulk-rules.ts";
import type { ProgramNotices } from "../../points/rules/program.ts";
import { isDelayed, type ProgramRules } from "../../points/rules/program-rules.ts";
import {
  finalApprovalTime,
  type RuleChangeState,
  ruleChangeState,
} from "../../points/rules/rule-changes.ts";
import { points, whoOf } from "../rules/bulk-grant-text.ts";
import { mrkdwn } from "./mrkdwn.ts";

const { value, code, time: dateOf } = mrkdwn;

const titles: Readonly<Record<RuleChangeState, string>> = {
  PROPOSED: "New rules await approval",
  IN_FORCE: "New rules are in force",
  REJECTED: "New rules are rejected",
  REPLACED: "New rules are replaced",
};

/** Returns the text. Every value in it is escaped, so that none is a command. */
export function ruleChangeMessage({ programId, change }: RuleChangeReport): string {
  const { from, to, proposer, reason, approvals, end, requiredApprovalCount } = change;
  const state = ruleChangeState(change);
  const isOpen = state === "PROPOSED";
  return [
    `*${titles[state]}*`,
    `Change ${change.number} of ${code(programId)}`,
    ...differences(from, to),
    `Proposed by ${whoOf({ caller: proposer, reason }, mrkdwn)}`,
    ...approvals.map((approval) => `Approved by ${whoOf(approval, mrkdwn)}`),
    ...(isOpen ? [`${approvals.length} of ${quantity(requiredApprovalCount, "approval")}`] : []),
    ...(isOpen && isDelayed(from, to)
      ? [`The last one is accepted from ${dateOf(finalApprovalTime(change))} on`]
      : []),
    ...(end ? [`Ended by ${whoOf(end, mrkdwn)}`] : []),
  ].join("\n");
}

/** What a change makes different, before and after. */
function differences(from: ProgramRules, to: ProgramRules): string[] {
  const texts = ({ lifetimeMonths, notices, bulkRules }: ProgramRules) => [
    `points live for ${quantity(lifetimeMonths, "month")}`,
    noticesText(notices),
    bulkRulesText(bulkRules),
  ];
  const [before, after] = [texts(from), texts(to)];
  return before.flatMap((text, i) =>
    text === after[i] ? [] : [`Before: ${text}`, `After: ${after[i]}`],
  );
}

const noticesText = ({ expiryDays, reservedGrants }: ProgramNotices): string =>
  [
    `members hear of expiry ${expiryDays > 0 ? `${quantity(expiryDays, "day")} before` : "never"}`,
    `of reserved grants ${reservedGrants ? "each time" : "never"}`,
  ].join("; ");

/** The rules for bulk grants in one line, the tiers by rising totals. */
function bulkRulesText(rules: BulkRules): string {
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
    `user ids ${rules.userIdPattern === "" ? "of any form" : code(rules.userIdPattern)}`,
    `refused warnings ${rules.refusedWarnings.join(", ") || "none"}`,
  ].join("; ");
}
