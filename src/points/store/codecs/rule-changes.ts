/** How the changes of a program's rules, and the points that its tiers count, are stored. */

import { approval, caller } from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  type Field,
  type Fields,
  field,
  list,
  maybe,
  number,
  oneOf,
  optional,
  text,
  unless,
  unlessEmpty,
} from "../../../platform/dynamodb/fields.ts";
import {
  type Item,
  N,
  num,
  numbers,
  nums,
  pad,
  S,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { inBatches } from "../../../platform/ports/pages.ts";
import type { WarningCode } from "../../rules/bulk-rules.ts";
import type { ProgramRules } from "../../rules/program-rules.ts";
import type { RuleChange, RuleChangeEnd } from "../../rules/rule-changes.ts";

/** The partition of all changes of a program's rules. */
export const ruleChangesKey = (programId: string) => S(`B#${programId}`);

/** The sort keys of the changes are in the order of their numbers, the latest at the end. */
const latestKey = S("R");
/** 12 digits: whoever may propose must not use up the numbers. */
const earlierKey = (number: number) => S(`H#${pad(number, 12)}`);
export const ruleChangeRange: Item = { ":from": earlierKey(0), ":to": latestKey };

/**
 * Lifetime, days and reserved grants of the notices; then caps, approvals above the tiers, delay,
 * points and approvals of each tier. Sources, the pattern of user ids and refused warnings apart.
 */
function rules(attribute: string): Field<ProgramRules> {
  const limits = field(attribute, list(number));
  const sources = unlessEmpty(`${attribute}s`, list(text));
  const userIdPattern = unless("", `${attribute}u`, text);
  const refusedWarnings = unlessEmpty(`${attribute}w`, list(oneOf<WarningCode>()));
  return {
    attribute,
    put({ lifetimeMonths, notices, bulkRules }, item) {
      const { maxPointsPerRow, maxTotalPoints, requiredApprovalCount, loweringDelayMs } = bulkRules;
      const tiers = bulkRules.tiers.flatMap((tier) => [
        tier.maxTotalPoints,
        tier.requiredApprovalCount,
      ]);
      const program = [lifetimeMonths, notices.expiryDays, Number(notices.reservedGrants)];
      const first = [maxPointsPerRow, maxTotalPoints, requiredApprovalCount, loweringDelayMs];
      limits.put([...program, ...first, ...tiers], item);
      sources.put(bulkRules.sources, item);
      userIdPattern.put(bulkRules.userIdPattern, item);
      refusedWarnings.put(bulkRules.refusedWarnings, item);
    },
    get(item) {
      const [lifetimeMonths = 0, expiryDays = 0, reservedGrants = 0, ...bulk] = limits.get(item);
      const [maxPointsPerRow = 0, maxTotalPoints = 0, approvals = 0, delay = 0, ...rest] = bulk;
      const tiers = inBatches(rest, 2).map(([maxTotalPoints = 0, requiredApprovalCount = 0]) => ({
        maxTotalPoints,
        requiredApprovalCount,
      }));
      const bulkRules = {
        ...{ maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount: approvals },
        ...{ sources: sources.get(item), loweringDelayMs: delay },
        ...{ userIdPattern: userIdPattern.get(item), refusedWarnings: refusedWarnings.get(item) },
      };
      const notices = { expiryDays, reservedGrants: reservedGrants === 1 };
      return { lifetimeMonths, notices, bulkRules };
    },
  };
}

const endState = field("x", oneOf<RuleChangeEnd["state"]>());
const ended = field("xa", approval);

const fields: Fields<RuleChange> = {
  number: field("n", number),
  from: rules("f"),
  to: rules("t"),
  proposer: caller("w"),
  proposeTime: field("p", number),
  reason: unless("", "r", text),
  requiredApprovalCount: field("q", number),
  approvals: field("a", list(approval)),
  effectiveTime: optional("e", number),
  end: maybe({
    attribute: "x",
    put(end, item) {
      endState.put(end.state, item);
      ended.put(end, item);
    },
    get: (item) => ({ state: endState.get(item), ...ended.get(item) }),
  }),
};

export const ruleChange = defineRecord<"ruleChange">({
  table: "bulk",
  key: (programId) => ({ pk: ruleChangesKey(programId), sk: latestKey }),
  fields,
});

export const earlierRuleChange = defineRecord<"earlierRuleChange">({
  table: "bulk",
  key: (id) => {
    const [programId = "", number] = id.split("#");
    return { pk: ruleChangesKey(programId), sk: earlierKey(Number(number)) };
  },
  fields,
});

export const pointsWindow: Codec<"pointsWindow"> = {
  table: "bulk",
  key: (programId) => ({ pk: S(`N#${programId}`), sk: S("N") }),
  encode: ({ hour, tierPoints }) => ({
    h: N(hour),
    c: numbers(tierPoints.flatMap((each) => [hour - each.hour, each.approvalCount, each.points])),
  }),
  decode: (item) => {
    const hour = num(item, "h");
    const tierPoints = inBatches(nums(item, "c"), 3).map(
      ([hours = 0, approvalCount = 0, points = 0]) => ({
        hour: hour - hours,
        approvalCount,
        points,
      }),
    );
    return { hour, tierPoints };
  },
};
