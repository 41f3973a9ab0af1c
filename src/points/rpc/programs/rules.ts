/** Maps the rules of programs, and the changes of them, between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type Program_BulkRules,
  Program_RulesChangeSchema,
} from "../../../gen/meguri/programs/v1/program_pb.ts";
import { fromRecord } from "../../../platform/messages/records.ts";
import { toMilliseconds } from "../../../platform/messages/scalars.ts";
import { type BulkRules, defaultBulkRules, warningCodes } from "../../rules/bulk-rules.ts";
import type { ProgramRules } from "../../rules/program-rules.ts";
import type { ShownRuleChange } from "../../use-cases/programs/ruled-program.ts";

/**
 * The rules of a request that protovalidate has accepted: whatever is unset gets its default.
 * Refusals name fields by `path`, where the request has the rules.
 */
export function toBulkRules(message: Program_BulkRules, path: string): BulkRules {
  const { maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount, sources } = message;
  const { loweringDelay, userIdPattern, refusedWarnings } = message;
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
    userIdPattern,
    refusedWarnings: warningCodes.filter((code) => refusedWarnings.includes(code)),
  };
}

/** The rules for bulk grants with the names of their message. */
export const shownBulkRules = (rules: BulkRules) => ({
  ...rules,
  loweringDelay: rules.loweringDelayMs,
});

const shownRules = ({ bulkRules, ...rules }: ProgramRules) => ({
  ...rules,
  bulkRules: shownBulkRules(bulkRules),
});

/** A change of the rules with the names of its message. */
export const shownRuleChange = (change: ShownRuleChange) => ({
  ...change,
  previousRules: shownRules(change.from),
  rules: shownRules(change.to),
});

/** The message of a change of the rules. */
export const fromRuleChange = (
  change: ShownRuleChange,
): MessageInitShape<typeof Program_RulesChangeSchema> =>
  fromRecord(Program_RulesChangeSchema, shownRuleChange(change));
