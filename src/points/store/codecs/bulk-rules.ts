/** How the changes of a program's bulk rules, and the points that its tiers count, are stored. */

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
import type { RuleChange, RuleChangeEnd } from "../../rules/bulk-rule-changes.ts";
import type { BulkRules } from "../../rules/bulk-rules.ts";

/** The partition of all changes of a program's rules. */
export const bulkRulesKey = (programId: string) => S(`B#${programId}`);

/** The sort keys of the changes are in the order of their numbers, the latest at the end. */
const latestKey = S("R");
/** 12 digits: whoever may propose must not use up the numbers. */
const earlierKey = (number: number) => S(`H#${pad(number, 12)}`);
export const ruleChangeRange: Item = { ":from": earlierKey(0), ":to": latestKey };

/** Caps, approvals above the tiers, delay, points and approvals of each tier; sources apart. */
function rules(attribute: string): Field<BulkRules> {
  const limits = field(attribute, list(number));
  const sources = unlessEmpty(`${attribute}s`, list(text));
  return {
    attribute,
    put(value, item) {
      const { maxPointsPerRow, maxTotalPoints, requiredApprovalCount, loweringDelayMs } = value;
      const tiers = value.tiers.flatMap((tier) => [
        tier.maxTotalPoints,
        tier.requiredApprovalCount,
      ]);
      const first = [maxPointsPerRow, maxTotalPoints, requiredApprovalCount, loweringDelayMs];
      limits.put([...first, ...tiers], item);
      sources.put(value.sources, item);
    },
    get(item) {
      const [maxPointsPerRow = 0, maxTotalPoints = 0, approvals = 0, delay = 0, ...rest] =
        limits.get(item);
      const tiers = inBatches(rest, 2).map(([maxTotalPoints = 0, requiredApprovalCount = 0]) => ({
        maxTotalPoints,
        requiredApprovalCount,
      }));
      return {
        ...{ maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount: approvals },
        ...{ sources: sources.get(item), loweringDelayMs: delay },
      };
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

export const bulkRules = defineRecord<"bulkRules">({
  table: "bulk",
  key: (programId) => ({ pk: bulkRulesKey(programId), sk: latestKey }),
  fields,
});

export const earlierBulkRules = defineRecord<"earlierBulkRules">({
  table: "bulk",
  key: (id) => {
    const [programId = "", number] = id.split("#");
    return { pk: bulkRulesKey(programId), sk: earlierKey(Number(number)) };
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
