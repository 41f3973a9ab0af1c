/** Tests which bulk rules are refused, how many approvals they want, and which are weaker. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  approvalsFor,
  type BulkRules,
  checkBulkRules,
  defaultBulkRules,
  isLowering,
  isSameBulkRules,
  strictestApprovals,
} from "../../../src/points/rules/bulk-rules.ts";
import { anyRules, nearTotals } from "../../support/fixtures/bulk-rules-arbitrary.ts";

const tiered: BulkRules = {
  ...defaultBulkRules,
  maxPointsPerRow: 500,
  maxTotalPoints: 2_000_000,
  tiers: [
    { maxTotalPoints: 1_000, requiredApprovalCount: 0 },
    { maxTotalPoints: 100_000, requiredApprovalCount: 1 },
  ],
  requiredApprovalCount: 2,
  sources: ["nightly", "weekly"],
};

const tier = (maxTotalPoints: number, requiredApprovalCount = 1) => ({
  maxTotalPoints,
  requiredApprovalCount,
});

const check = (rules: Partial<BulkRules>) =>
  checkBulkRules({ ...defaultBulkRules, ...rules }, "program.bulk_rules");

describe("rules", () => {
  test("differ by each of their parts", () => {
    expect(isSameBulkRules(tiered, { ...tiered, tiers: [...tiered.tiers] })).toBe(true);
    const [first, second] = tiered.tiers as [(typeof tiered.tiers)[0], (typeof tiered.tiers)[0]];
    for (const part of [
      { maxPointsPerRow: 501 },
      { maxTotalPoints: 2_000_001 },
      { requiredApprovalCount: 1 },
      { tiers: [first] },
      { tiers: [{ ...first, maxTotalPoints: 999 }, second] },
      { tiers: [first, { ...second, requiredApprovalCount: 2 }] },
      { sources: ["nightly"] },
      { loweringDelayMs: 0 },
      { userIdPattern: "x" },
      { refusedWarnings: ["POINTS_ZERO" as const] },
    ]) {
      expect(isSameBulkRules(tiered, { ...tiered, ...part }), JSON.stringify(part)).toBe(false);
    }
  });

  test("accept their smallest and their largest values", () => {
    const least = { maxPointsPerRow: 1, maxTotalPoints: 1, tiers: [], requiredApprovalCount: 0 };
    check({ ...least, loweringDelayMs: 0 });
    check({
      tiers: [1, 2, 3, 4, 10 ** 15].map((points) => tier(points, 2)),
      requiredApprovalCount: 2,
      loweringDelayMs: 30 * 86_400_000,
    });
  });

  test.each<[field: string, wrong: Partial<BulkRules>]>([
    ["max_points_per_row", { maxPointsPerRow: 0 }],
    ["max_points_per_row", { maxPointsPerRow: 10 ** 9 + 1 }],
    ["max_points_per_row", { maxPointsPerRow: 1.5 }],
    ["max_total_points", { maxTotalPoints: 0 }],
    ["max_total_points", { maxTotalPoints: 10 ** 15 + 1 }],
    ["max_total_points", { maxTotalPoints: Number.NaN }],
    ["tiers", { tiers: [1, 2, 3, 4, 5, 6].map((points) => tier(points)) }],
    ["tiers[0].max_total_points", { tiers: [tier(0)] }],
    ["tiers[0].max_total_points", { tiers: [tier(10 ** 15 + 1)] }],
    ["tiers[1].max_total_points", { tiers: [tier(5), tier(5)] }],
    ["tiers[2].max_total_points", { tiers: [tier(5), tier(9), tier(8)] }],
    ["tiers[0].required_approval_count", { tiers: [tier(5, 3)], requiredApprovalCount: 2 }],
    ["tiers[0].required_approval_count", { tiers: [tier(5, -1)] }],
    ["tiers[1].required_approval_count", { tiers: [tier(5, 1), tier(9, 0)] }],
    ["required_approval_count", { tiers: [tier(5, 2)], requiredApprovalCount: 1 }],
    ["required_approval_count", { requiredApprovalCount: 3 }],
    ["required_approval_count", { requiredApprovalCount: -1 }],
    ["lowering_delay", { loweringDelayMs: -1 }],
    ["lowering_delay", { loweringDelayMs: 30 * 86_400_000 + 1 }],
    ["user_id_pattern", { userIdPattern: "(" }],
    ["user_id_pattern", { userIdPattern: "(?=0)[0-9]+" }],
    ["user_id_pattern", { userIdPattern: "あ".repeat(86) }],
    ["user_id_pattern", { userIdPattern: "[0-9]{128}" }],
  ])("are refused by the field %s: %o", (field, wrong) => {
    expect(() => check(wrong)).toThrow(
      expect.objectContaining({
        reason: "INVALID_REQUEST",
        metadata: { field: `program.bulk_rules.${field}` },
      }),
    );
  });

  test("decide how many approvals a total needs, each tier with its last point", () => {
    const needed = [1, 1_000, 1_001, 100_000, 100_001].map((points) =>
      approvalsFor(tiered, points),
    );
    expect(needed).toEqual([0, 0, 1, 1, 2]);
    expect(approvalsFor(defaultBulkRules, 1)).toBe(1);
    expect(approvalsFor(defaultBulkRules, 10 ** 15)).toBe(1);
  });
});

describe("a change lowers the rules", () => {
  test("exactly if a total, a cap, a source, the delay, the pattern or a warning is easier", () => {
    fc.assert(
      fc.property(anyRules, anyRules, (from, to) => {
        const isEasier = nearTotals([from, to]).some(
          (total) => approvalsFor(to, total) < approvalsFor(from, total),
        );
        const expected =
          isEasier ||
          to.maxPointsPerRow > from.maxPointsPerRow ||
          to.maxTotalPoints > from.maxTotalPoints ||
          !to.sources.every((source) => from.sources.includes(source)) ||
          to.loweringDelayMs < from.loweringDelayMs ||
          !["", to.userIdPattern].includes(from.userIdPattern) ||
          !from.refusedWarnings.every((code) => to.refusedWarnings.includes(code));
        expect(isLowering(from, to)).toBe(expected);
      }),
      { seed: 24, numRuns: 500 },
    );
  });

  test("no total needs more approvals than the strictest tier", () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const needed = nearTotals([rules]).map((total) => approvalsFor(rules, total));
        expect(Math.max(...needed)).toBeLessThanOrEqual(strictestApprovals(rules));
      }),
      { seed: 24, numRuns: 500 },
    );
  });
});
