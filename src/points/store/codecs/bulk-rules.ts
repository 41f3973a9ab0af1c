/** How the changes of a program's bulk rules, and the points that its tiers count, are stored. */

import {
  decodeApproval,
  decodeCaller,
  encodeApproval,
  encodeCaller,
} from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import {
  type Item,
  N,
  num,
  numbers,
  nums,
  pad,
  S,
  strings,
  text,
  texts,
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

export const bulkRules: Codec<"bulkRules"> = {
  table: "bulk",
  key: (programId) => ({ pk: bulkRulesKey(programId), sk: latestKey }),
  encode: encodeChange,
  decode: decodeChange,
};

export const earlierBulkRules: Codec<"earlierBulkRules"> = {
  table: "bulk",
  key: (id) => {
    const [programId = "", number] = id.split("#");
    return { pk: bulkRulesKey(programId), sk: earlierKey(Number(number)) };
  },
  encode: encodeChange,
  decode: decodeChange,
};

function encodeChange(change: RuleChange): Item {
  const { effectiveTime, end } = change;
  return {
    n: N(change.number),
    ...encodeRules("f", change.from),
    ...encodeRules("t", change.to),
    ...encodeCaller("w", change.proposer),
    p: N(change.proposeTime),
    q: N(change.requiredApprovalCount),
    a: { L: change.approvals.map(encodeApproval) },
    ...(effectiveTime !== undefined && { e: N(effectiveTime) }),
    ...(end && { x: S(end.state), xa: encodeApproval(end) }),
  };
}

export function decodeChange(item: Item): RuleChange {
  const state = text(item, "x") as RuleChangeEnd["state"];
  return {
    number: num(item, "n"),
    from: decodeRules(item, "f"),
    to: decodeRules(item, "t"),
    proposer: decodeCaller(item, "w"),
    proposeTime: num(item, "p"),
    requiredApprovalCount: num(item, "q"),
    approvals: (item.a?.L ?? []).map(decodeApproval),
    ...(item.e && { effectiveTime: num(item, "e") }),
    ...(item.xa && { end: { state, ...decodeApproval(item.xa) } }),
  };
}

/** Caps, approvals above the tiers, delay, points and approvals of each tier; sources apart. */
const encodeRules = (name: string, rules: BulkRules): Item => ({
  [name]: numbers([
    rules.maxPointsPerRow,
    rules.maxTotalPoints,
    rules.requiredApprovalCount,
    rules.loweringDelayMs,
    ...rules.tiers.flatMap(({ maxTotalPoints, requiredApprovalCount }) => [
      maxTotalPoints,
      requiredApprovalCount,
    ]),
  ]),
  ...(rules.sources.length > 0 && { [`${name}s`]: strings(rules.sources) }),
});

function decodeRules(item: Item, name: string): BulkRules {
  const [maxPointsPerRow = 0, maxTotalPoints = 0, approvals = 0, loweringDelayMs = 0, ...rest] =
    nums(item, name);
  const tiers = inBatches(rest, 2).map(([maxTotalPoints = 0, requiredApprovalCount = 0]) => ({
    maxTotalPoints,
    requiredApprovalCount,
  }));
  return {
    ...{ maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount: approvals },
    ...{ sources: texts(item, `${name}s`), loweringDelayMs },
  };
}

export const pointsWindow: Codec<"pointsWindow"> = {
  table: "bulk",
  key: (programId) => ({ pk: S(`N#${programId}`), sk: S("N") }),
  encode: ({ hour, counted }) => ({
    h: N(hour),
    c: numbers(counted.flatMap((each) => [hour - each.hour, each.approvalCount, each.points])),
  }),
  decode: (item) => {
    const hour = num(item, "h");
    const counted = inBatches(nums(item, "c"), 3).map(
      ([hours = 0, approvalCount = 0, points = 0]) => ({
        hour: hour - hours,
        approvalCount,
        points,
      }),
    );
    return { hour, counted };
  },
};
