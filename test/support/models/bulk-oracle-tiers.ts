/** The oracle's count of what was submitted under the tiers of a program: a list of all of it. */
import type { BulkRules } from "../../../src/domain/bulk-rules.ts";
import { approvalsFor, type Campaign, type Counted } from "./bulk-oracle-campaign.ts";

export const countedAt = (now: number, required: number, points: number): Counted => ({
  hour: Math.floor(now / 3_600_000),
  required,
  points,
});

/** What a campaign counts at present: nothing when its revision ended and was never run. */
export const countedOf = ({ counted, state, started }: Campaign): readonly Counted[] =>
  counted && (started || !["INVALID", "REJECTED", "CANCELLED"].includes(state)) ? [counted] : [];

/** What stays counted of a campaign's revision that is replaced: what its run has granted. */
export const grantedOf = (campaign: Campaign): readonly Counted[] =>
  countedOf(campaign).map((each) => ({
    ...each,
    points: Math.min(each.points, campaign.result?.grantedPoints ?? 0),
  }));

/** The fewest approvals with which these points and all that needed as few are within a tier. */
export function requiredWithin(
  rules: BulkRules,
  all: readonly Counted[],
  points: number,
  now: number,
): number {
  const { hour } = countedAt(now, 0, 0);
  const needs = (required: number) =>
    all
      .filter((each) => each.hour > hour - 24 && each.required <= required)
      .reduce((sum, each) => sum + each.points, points);
  return [0, 1].find((required) => approvalsFor(rules, needs(required)) <= required) ?? 2;
}
