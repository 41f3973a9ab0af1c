/** Maps the rules for bulk grants, and the changes of them, between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Program_BulkRules,
  type Program_BulkRulesChangeSchema,
  type Program_BulkRulesSchema,
  Program_BulkRulesChange_State as State,
} from "../../../gen/meguri/programs/v1/program_pb.ts";
import { fromApproval, fromCaller } from "../../../platform/messages/callers.ts";
import { fromInstant, toMilliseconds } from "../../../platform/messages/scalars.ts";
import type { RuleChangeState } from "../../rules/bulk-rule-changes.ts";
import { type BulkRules, defaultBulkRules } from "../../rules/bulk-rules.ts";
import type { ShownRuleChange } from "../../use-cases/programs/ruled-program.ts";

const states: Readonly<Record<RuleChangeState, State>> = {
  PROPOSED: State.PROPOSED,
  WAITING: State.WAITING,
  IN_FORCE: State.IN_FORCE,
  REJECTED: State.REJECTED,
  CANCELLED: State.CANCELLED,
  REPLACED: State.REPLACED,
};

/**
 * The rules of a request that protovalidate has accepted: whatever is unset gets its default.
 * Refusals name fields by `path`, where the request has the rules.
 */
export function toBulkRules(message: Program_BulkRules, path: string): BulkRules {
  const { maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount, sources } = message;
  const { loweringDelay } = message;
  return {
    maxPointsPerRow: Number(maxPointsPerRow) || defaultBulkRules.maxPointsPerRow,
    maxTotalPoints: Number(maxTotalPoints) || defaultBulkRules.maxTotalPoints,
    tiers: tiers.map(
      ({ maxTotalPoints, requiredApprovalCount = defaultBulkRules.requiredApprovalCount }) => ({
        maxTotalPoints: Number(maxTotalPoints),
        requiredApprovalCount,
      }),
    ),
    requiredApprovalCount: requiredApprovalCount ?? defaultBulkRules.requiredApprovalCount,
    sources: sources.toSorted(),
    loweringDelayMs: loweringDelay
      ? toMilliseconds(loweringDelay, `${path}.lowering_delay`)
      : defaultBulkRules.loweringDelayMs,
  };
}

export const fromBulkRules = (
  rules: BulkRules,
): MessageInitShape<typeof Program_BulkRulesSchema> => ({
  maxPointsPerRow: BigInt(rules.maxPointsPerRow),
  maxTotalPoints: BigInt(rules.maxTotalPoints),
  tiers: rules.tiers.map(({ maxTotalPoints, requiredApprovalCount }) => ({
    maxTotalPoints: BigInt(maxTotalPoints),
    requiredApprovalCount,
  })),
  requiredApprovalCount: rules.requiredApprovalCount,
  sources: [...rules.sources],
  loweringDelay: durationFromMs(rules.loweringDelayMs),
});

/** The message of a change of the rules. */
export function fromRuleChange(
  change: ShownRuleChange,
): MessageInitShape<typeof Program_BulkRulesChangeSchema> {
  const { effectiveTime, end } = change;
  return {
    number: BigInt(change.number),
    state: states[change.state],
    previousBulkRules: fromBulkRules(change.from),
    bulkRules: fromBulkRules(change.to),
    lowering: change.isLowering,
    proposer: fromCaller(change.proposer),
    proposeTime: fromInstant(change.proposeTime),
    requiredApprovalCount: change.requiredApprovalCount,
    approvals: change.approvals.map(fromApproval),
    ...(effectiveTime !== undefined && { effectiveTime: fromInstant(effectiveTime) }),
    ...(end && { end: fromApproval(end) }),
    digest: change.digest,
  };
}
