/** Tests how rules are proposed, approved, replaced and ended, and which are in force when. */
import { describe, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import {
  approveRules,
  firstRules,
  proposeRules,
  type RuleChange,
  rejectRules,
  ruleChangeState,
  rulesAt,
} from "../../../src/points/rules/bulk-rule-changes.ts";
import { type BulkRules, defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";

const hour = 3_600_000;
const t0 = Date.UTC(2026, 5, 1);
const [ann, ben, cho] = ["ann", "ben", "cho"].map((name) => asService(name)) as [
  ReturnType<typeof asService>,
  ReturnType<typeof asService>,
  ReturnType<typeof asService>,
];
const by = (caller = ben) => ({ caller, reason: "" });

const strict = (approvals: number): BulkRules => ({
  ...defaultBulkRules,
  requiredApprovalCount: approvals,
});
const unattended: BulkRules = {
  ...strict(2),
  tiers: [{ maxTotalPoints: 100, requiredApprovalCount: 0 }],
};

/** A program with these rules, and ann's proposal of others. */
function proposed(from: BulkRules, to: BulkRules, now = t0): RuleChange {
  const found = proposeRules(firstRules(from, ann, t0), to, ann, now);
  if (!found) throw new Error("nothing was proposed");
  return found.latest;
}

describe("rules in force", () => {
  test("are the default ones without a change, and those of the creation from then on", () => {
    expect(rulesAt(undefined, t0)).toBe(defaultBulkRules);
    expect(rulesAt(firstRules(unattended, ann, t0), t0)).toBe(unattended);
  });

  test("stay until a change has the approvals of the strictest tier, which are by others", () => {
    const change = proposed(strict(2), { ...strict(2), maxPointsPerRow: 5 });
    expect(change).toMatchObject({ number: 1, requiredApprovalCount: 2, approvals: [] });
    expect(() => approveRules(change, by(ann), t0)).toThrow(/proposer/);
    const disguised = { service: "desk", subject: "Ann " };
    expect(() => approveRules(change, by(disguised), t0)).toThrow(/proposer/);
    const once = approveRules(change, by(ben), t0);
    expect(approveRules(once, by({ service: "desk", subject: "BEN" }), t0)).toBe(once);
    expect(rulesAt(once, t0)).toBe(change.from);
    const twice = approveRules(once, by(cho), t0 + 1);
    expect(rulesAt(twice, t0 + 1)).toBe(change.to);
    expect(() => approveRules(twice, by(asService("dan")), t0)).toThrow(/IN_FORCE/);
  });

  test("that are stricter hold at once, by any clock", () => {
    const change = approveRules(proposed(strict(1), strict(2)), by(), t0);
    expect(rulesAt(change, t0 - hour)).toEqual(strict(2));
  });

  test("that are weaker hold after the delay of the rules before", () => {
    const quick = { ...unattended, loweringDelayMs: 0 };
    const change = approveRules(proposed(strict(1), quick), by(), t0);
    expect(ruleChangeState(change, t0 + hour - 1)).toBe("WAITING");
    expect(rulesAt(change, t0 + hour - 1)).toEqual(strict(1));
    expect(ruleChangeState(change, t0 + hour)).toBe("IN_FORCE");
    expect(rulesAt(change, t0 + hour)).toBe(quick);
    // A clock that runs back is stricter again.
    expect(rulesAt(change, t0)).toEqual(strict(1));
  });

  test("need nobody where the strictest tier does not, also to become weaker", () => {
    const change = proposed(strict(0), { ...strict(0), maxTotalPoints: 10 ** 15, sources: ["n"] });
    expect(change).toMatchObject({ requiredApprovalCount: 0, effectiveTime: t0 });
    expect(rulesAt(change, t0).sources).toEqual(["n"]);
  });
});

describe("a proposal", () => {
  test("of what is in force or proposed already changes nothing, whoever sends it", () => {
    const first = firstRules(strict(1), ann, t0);
    expect(proposeRules(first, { ...strict(1) }, ben, t0)).toBeUndefined();
    expect(proposeRules(undefined, { ...defaultBulkRules }, ben, t0)).toBeUndefined();
    const open = proposed(strict(1), strict(2));
    expect(proposeRules(open, strict(2), ben, t0)).toBeUndefined();
    expect(proposeRules(open, strict(1), ben, t0)).toBeUndefined();
  });

  test("replaces a pending one and its approvals, and one that waits", () => {
    const pending = approveRules(proposed(strict(2), unattended), by(), t0);
    const other = { ...strict(2), maxPointsPerRow: 5 };
    const { latest, earlier } = proposeRules(pending, other, cho, t0 + 1) ?? {};
    expect(latest).toMatchObject({ number: 2, from: strict(2), to: other, approvals: [] });
    expect(earlier).toEqual({
      ...pending,
      end: { state: "REPLACED", caller: cho, time: t0 + 1, reason: "" },
    });
    const waiting = approveRules(proposed(strict(1), unattended), by(), t0);
    const next = proposeRules(waiting, strict(2), cho, t0 + 1);
    expect(next?.latest.from).toEqual(strict(1));
    expect(next?.earlier?.end?.state).toBe("REPLACED");
  });

  test("after a change in force keeps it in the history as it is", () => {
    const lowered = approveRules(proposed(strict(1), unattended), by(), t0);
    const { latest, earlier } = proposeRules(lowered, strict(2), ben, t0 + hour) ?? {};
    expect(latest?.from).toBe(unattended);
    expect(latest?.requiredApprovalCount).toBe(2);
    expect(earlier).toBe(lowered);
  });

  test("can be made again after a rejection", () => {
    const rejected = rejectRules(proposed(strict(1), unattended), by(), t0);
    expect(proposeRules(rejected, unattended, ann, t0)?.latest.number).toBe(2);
  });
});

describe("a rejection", () => {
  test("by one person ends a proposal, and cancels a change that waits", () => {
    const open = proposed(strict(1), unattended);
    const rejected = rejectRules(open, by(ann), t0);
    expect(ruleChangeState(rejected, t0)).toBe("REJECTED");
    expect(rejectRules(rejected, by(ben), t0)).toBe(rejected);
    expect(() => approveRules(rejected, by(), t0)).toThrow(/REJECTED/);
    const cancelled = rejectRules(approveRules(open, by(), t0), by(cho), t0 + 1);
    expect(cancelled.end).toEqual({ state: "CANCELLED", ...by(cho), time: t0 + 1 });
    expect(rulesAt(cancelled, t0 + 2 * hour)).toEqual(strict(1));
    expect(rejectRules(cancelled, by(), t0)).toBe(cancelled);
  });

  test("comes too late for what is in force", () => {
    const lowered = approveRules(proposed(strict(1), unattended), by(), t0);
    expect(() => rejectRules(lowered, by(), t0 + hour)).toThrow(/IN_FORCE/);
  });
});
