/** The rules of a program for bulk grants: caps, approvals, sources, and which rules are weaker. */
import { DomainError } from "../../platform/words/errors.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";
import { whyNoPattern } from "./user-id-pattern.ts";

/** The stable codes of what may be a mistake in a sheet although no rule is broken. */
export const warningCodes = [
  "IDS_CHANGED",
  "LEADING_ZEROS_LOST",
  "LAST_ROW_IS_SUM",
  "WITHOUT_ACCOUNT",
  "FAR_MORE_POINTS",
  "REASON_ERROR_VALUE",
  "POINTS_ZERO",
] as const;

export type WarningCode = (typeof warningCodes)[number];

/** The limits of a program's bulk grants, and how many people have to approve them. */
export interface BulkRules {
  /** The most points of one row, 1 to 1,000,000,000. */
  readonly maxPointsPerRow: number;
  /** The most points of one bulk grant in all, 1 to 10^15. */
  readonly maxTotalPoints: Points;
  /** At most 5, by rising totals; the approvals never fall. */
  readonly tiers: readonly ApprovalTier[];
  /** How many approvals a total above the last tier needs: as many as the last tier, up to 2. */
  readonly requiredApprovalCount: number;
  /** The names of the sources that may grant in the program, each once, in order. */
  readonly sources: readonly string[];
  /** How long after its proposal a change gets its last approval, if it lowers or lengthens. */
  readonly loweringDelayMs: Milliseconds;
  /** A pattern in the syntax of RE2 that the user ids of rows match as a whole; "" for none. */
  readonly userIdPattern: string;
  /** The warnings that make a revision INVALID, each once, in order. */
  readonly refusedWarnings: readonly WarningCode[];
}

/** How many approvals a bulk grant of up to so many points needs: 0, 1 or 2. */
export interface ApprovalTier {
  readonly maxTotalPoints: Points;
  readonly requiredApprovalCount: number;
}

/**
 * The rules of a program that has set none: no cap but that of a grant, one approval, and no
 * source, because whoever writes its files could approve them, too.
 */
export const defaultBulkRules: BulkRules = {
  maxPointsPerRow: 10 ** 9,
  maxTotalPoints: 10 ** 15,
  tiers: [],
  requiredApprovalCount: 1,
  sources: [],
  loweringDelayMs: 3_600_000,
  userIdPattern: "",
  refusedWarnings: [],
};

const maxTiers = 5;
const maxApprovals = 2;
const maxLoweringDelayMs = 30 * 24 * 3_600_000;

/** How many approvals a total of so many points needs. */
export function approvalsFor(
  { tiers, requiredApprovalCount }: BulkRules,
  totalPoints: Points,
): number {
  const tier = tiers.find(({ maxTotalPoints }) => totalPoints <= maxTotalPoints);
  return tier?.requiredApprovalCount ?? requiredApprovalCount;
}

/** How many approvals the strictest tier needs. The approvals never fall, so it is the last one. */
export const strictestApprovals = (rules: BulkRules): number => rules.requiredApprovalCount;

/**
 * Whether anything is easier under the rules `to` than under `from`: a total that needs fewer
 * approvals, a higher cap, another source, a shorter delay, another pattern of user ids than there
 * was, or a warning that is not refused any more. What is stricter elsewhere does not make up for
 * it. Totals above the caps are compared, too, because the points of a day can exceed
 * the cap on one bulk grant.
 */
export const isLowering = (from: BulkRules, to: BulkRules): boolean =>
  to.maxPointsPerRow > from.maxPointsPerRow ||
  to.maxTotalPoints > from.maxTotalPoints ||
  to.loweringDelayMs < from.loweringDelayMs ||
  to.sources.some((source) => !from.sources.includes(source)) ||
  (from.userIdPattern !== "" && to.userIdPattern !== from.userIdPattern) ||
  from.refusedWarnings.some((code) => !to.refusedWarnings.includes(code)) ||
  [from, to]
    .flatMap(({ tiers }) => tiers)
    .flatMap(({ maxTotalPoints }) => [maxTotalPoints, maxTotalPoints + 1])
    .concat(1)
    .some((total) => approvalsFor(to, total) < approvalsFor(from, total));

export const isSameBulkRules = (a: BulkRules, b: BulkRules): boolean =>
  JSON.stringify(bulkRulesAsList(a)) === JSON.stringify(bulkRulesAsList(b));

/**
 * All values of the rules in a fixed order. The last two are left out at their defaults, so that
 * digests and etags of rules without them stay the same.
 */
export const bulkRulesAsList = (rules: BulkRules) => [
  rules.maxPointsPerRow,
  rules.maxTotalPoints,
  rules.requiredApprovalCount,
  rules.tiers.map(({ maxTotalPoints, requiredApprovalCount }) => [
    maxTotalPoints,
    requiredApprovalCount,
  ]),
  rules.sources,
  rules.loweringDelayMs,
  ...(rules.userIdPattern === "" && rules.refusedWarnings.length === 0
    ? []
    : [rules.userIdPattern, rules.refusedWarnings]),
];

/**
 * Refuses rules out of range, totals that do not rise, approvals that fall, and a pattern that does
 * not compile, by INVALID_REQUEST with the field, whose path in the request begins with `path`.
 */
export function checkBulkRules(rules: BulkRules, path: string): void {
  const { maxPointsPerRow, maxTotalPoints, tiers, requiredApprovalCount } = rules;
  const refuse = (field: string, message: string) => {
    throw new DomainError("INVALID_REQUEST", message, { field: `${path}.${field}` });
  };
  const checkRange = (field: string, value: number, min: number, max: number) => {
    const isInRange = Number.isInteger(value) && value >= min && value <= max;
    if (!isInRange) refuse(field, `must be a whole number of ${min} to ${max}`);
  };
  checkRange("max_points_per_row", maxPointsPerRow, 1, defaultBulkRules.maxPointsPerRow);
  checkRange("max_total_points", maxTotalPoints, 1, defaultBulkRules.maxTotalPoints);
  if (tiers.length > maxTiers) refuse("tiers", `must be at most ${maxTiers}`);
  let before: ApprovalTier = { maxTotalPoints: 0, requiredApprovalCount: 0 };
  for (const [i, tier] of tiers.entries()) {
    const [points, approvals] = [
      `tiers[${i}].max_total_points`,
      `tiers[${i}].required_approval_count`,
    ];
    checkRange(points, tier.maxTotalPoints, 1, defaultBulkRules.maxTotalPoints);
    checkRange(approvals, tier.requiredApprovalCount, 0, maxApprovals);
    const { maxTotalPoints, requiredApprovalCount } = before;
    if (tier.maxTotalPoints <= maxTotalPoints)
      refuse(points, `must be above ${maxTotalPoints}, as of the tier before`);
    if (tier.requiredApprovalCount < requiredApprovalCount)
      refuse(approvals, `must be at least ${requiredApprovalCount}, as of the tier before`);
    before = tier;
  }
  checkRange("required_approval_count", requiredApprovalCount, 0, maxApprovals);
  const least = before.requiredApprovalCount;
  if (requiredApprovalCount < least)
    refuse("required_approval_count", `must be at least ${least}, as of the last tier`);
  checkRange("lowering_delay", rules.loweringDelayMs, 0, maxLoweringDelayMs);
  const reason = whyNoPattern(rules.userIdPattern);
  if (reason !== undefined) refuse("user_id_pattern", reason);
}
