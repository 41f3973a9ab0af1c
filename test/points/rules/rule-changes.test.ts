/** Tests how rules are proposed, approved, replaced and ended, and which are in force when. */
import { describe, expect, test } from "vitest";
import { asService, type Caller } from "../../../src/platform/words/caller.ts";
import { type BulkRules, defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";
import { lengtheningDelayMs } from "../../../src/points/rules/program.ts";
import type { ProgramRules } from "../../../src/points/rules/program-rules.ts";
import {
  approveRules,
  bulkRulesAfter,
  finalApprovalTime,
  firstRules,
  proposeRules,
  type RuleChange,
  refuseShorter,
  rejectRules,
  ruleChangeState,
  withRules,
} from "../../../src/points/rules/rule-changes.ts";

const hour = 3_600_000;
const t0 = Date.UTC(2026, 5, 1);
const [ann, ben, cho] = ["ann", "ben", "cho"].map(asService) as [Caller, Caller, Caller];
const by = (caller = ben) => ({ caller, reason: "" });

const program = {
  ...{ programId: "p", timeZone: "UTC", createTime: 0 },
  lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
};

const strict = (approvals: number): BulkRules => ({
  ...defaultBulkRules,
  requiredApprovalCount: approvals,
});
const unattended: BulkRules = {
  ...strict(2),
  tiers: [{ maxTotalPoints: 100, requiredApprovalCount: 0 }],
};

const first = (bulkRules: BulkRules) => firstRules(program, bulkRules, ann, t0);

const propose = (
  before: RuleChange | undefined,
  changes: Partial<ProgramRules>,
  caller = ann,
  now = t0,
) => proposeRules(program, before, changes, by(caller), now);

/** Ann's proposal in a program with these rules for bulk grants. */
function proposed(from: BulkRules, changes: Partial<ProgramRules>): RuleChange {
  const found = propose(first(from), changes);
  if (!found) throw new Error("nothing was proposed");
  return found.latest;
}

describe("rules in force", () => {
  test("are the default ones without a change, and those of the creation from then on", () => {
    expect(bulkRulesAfter(undefined)).toBe(defaultBulkRules);
    expect(bulkRulesAfter(first(unattended))).toBe(unattended);
  });

  test("stay until a change has the approvals of the strictest tier, which are by others", () => {
    const bulkRules = { ...strict(2), maxPointsPerRow: 5 };
    const change = proposed(strict(2), { bulkRules });
    expect(change).toMatchObject({ number: 1, requiredApprovalCount: 2, approvals: [] });
    expect(() => approveRules(change, by(ann), t0)).toThrow(/proposer/);
    const disguised = { service: "desk", subject: "Ann " };
    expect(() => approveRules(change, by(disguised), t0)).toThrow(/proposer/);
    const once = approveRules(change, by(ben), t0);
    expect(approveRules(once, by({ service: "desk", subject: "BEN" }), t0)).toBe(once);
    expect(bulkRulesAfter(once)).toEqual(strict(2));
    const twice = approveRules(once, by(cho), t0 + 1);
    expect(twice.effectiveTime).toBe(t0 + 1);
    expect(bulkRulesAfter(twice)).toBe(bulkRules);
    expect(() => approveRules(twice, by(asService("dan")), t0)).toThrow(/IN_FORCE/);
  });

  test.each<[what: string, changes: Partial<ProgramRules>, delayMs: number]>([
    ["stricter rules for bulk grants", { bulkRules: strict(2) }, 0],
    ["notices", { notices: { expiryDays: 7, reservedGrants: true } }, 0],
    ["weaker rules for bulk grants", { bulkRules: unattended }, hour],
    ["a longer lifetime", { lifetimeMonths: 24 }, hour],
    ["a longer lifetime and stricter rules", { lifetimeMonths: 24, bulkRules: strict(2) }, hour],
  ])("%s get their last approval after their delay", (_, changes, delayMs) => {
    const change = proposed(strict(1), changes);
    expect(finalApprovalTime(change)).toBe(t0 + delayMs);
    const early = () => approveRules(change, by(), t0 + delayMs - 1);
    if (delayMs > 0) expect(early).toThrow(/accepted from 2026-06-01T01:00:00.000Z on/);
    const approved = approveRules(change, by(), t0 + delayMs);
    expect(ruleChangeState(approved)).toBe("IN_FORCE");
  });

  test("the approvals before the last one do not wait", () => {
    const change = approveRules(proposed(strict(2), { lifetimeMonths: 24 }), by(ben), t0);
    expect(change.approvals).toHaveLength(1);
    expect(() => approveRules(change, by(cho), t0)).toThrow(/last approval/);
    expect(approveRules(change, by(cho), t0 + hour).effectiveTime).toBe(t0 + hour);
  });

  test("need nobody where the strictest tier does not, also to become weaker", () => {
    const change = proposed(strict(0), { bulkRules: { ...strict(0), sources: ["n"] } });
    expect(change).toMatchObject({ requiredApprovalCount: 0, effectiveTime: t0 });
    expect(bulkRulesAfter(change).sources).toEqual(["n"]);
  });

  test("give the program its lifetime after its delay, and its notices at once", () => {
    const notices = { expiryDays: 7, reservedGrants: false };
    const change = proposed(strict(1), { lifetimeMonths: 24, notices });
    expect(withRules(program, change, t0)).toBe(program);
    const approved = approveRules(change, by(), t0 + hour);
    const after = withRules(program, approved, t0 + hour);
    expect(after).toEqual({
      ...program,
      lifetimes: [
        ...program.lifetimes,
        { lifetimeMonths: 24, effectiveTime: t0 + hour + lengtheningDelayMs },
      ],
      notices,
    });
    const next = proposeRules(after, approved, { notices }, by(cho), t0 + hour);
    expect(next).toBeUndefined();
  });
});

describe("a proposal", () => {
  test("of what is in force or proposed already changes nothing, whoever sends it", () => {
    expect(propose(first(strict(1)), { bulkRules: { ...strict(1) } }, ben)).toBeUndefined();
    expect(propose(undefined, { bulkRules: { ...defaultBulkRules } }, ben)).toBeUndefined();
    expect(propose(undefined, { lifetimeMonths: 12 })).toBeUndefined();
    const open = proposed(strict(1), { bulkRules: strict(2) });
    expect(propose(open, { bulkRules: strict(2) }, ben)).toBeUndefined();
    expect(propose(open, { bulkRules: strict(1) }, ben)).toBeUndefined();
  });

  test("of a shorter lifetime is refused", () => {
    expect(() => refuseShorter(proposed(strict(1), { lifetimeMonths: 11 }))).toThrow(
      expect.objectContaining({ reason: "WRONG_STATE", metadata: { lifetime_months: "12" } }),
    );
    refuseShorter(proposed(strict(1), { lifetimeMonths: 13 }));
  });

  test("replaces one that is not in force, with its approvals", () => {
    const pending = approveRules(proposed(strict(2), { lifetimeMonths: 24 }), by(), t0);
    const other = { ...strict(2), maxPointsPerRow: 5 };
    const { latest, earlier } = propose(pending, { bulkRules: other }, cho, t0 + 1) ?? {};
    expect(latest).toMatchObject({ number: 2, approvals: [] });
    expect(latest?.from).toMatchObject({ lifetimeMonths: 12, bulkRules: strict(2) });
    expect(latest?.to).toMatchObject({ lifetimeMonths: 12, bulkRules: other });
    expect(earlier).toEqual({
      ...pending,
      end: { state: "REPLACED", caller: cho, time: t0 + 1, reason: "" },
    });
  });

  test("after a change in force keeps it in the history as it is", () => {
    const change = proposed(strict(1), { bulkRules: unattended });
    const lowered = approveRules(change, by(), t0 + hour);
    const { latest, earlier } = propose(lowered, { bulkRules: strict(2) }, ben) ?? {};
    expect(latest?.from.bulkRules).toBe(unattended);
    expect(latest?.requiredApprovalCount).toBe(2);
    expect(earlier).toBe(lowered);
  });

  test("can be made again after a rejection", () => {
    const rejected = rejectRules(proposed(strict(1), { bulkRules: unattended }), by(), t0);
    expect(propose(rejected, { bulkRules: unattended })?.latest.number).toBe(2);
  });
});

describe("a rejection", () => {
  test("by one person ends a proposal, also the proposer's", () => {
    const open = proposed(strict(1), { bulkRules: unattended });
    const rejected = rejectRules(open, by(ann), t0);
    expect(rejected.end).toEqual({ state: "REJECTED", ...by(ann), time: t0 });
    expect(bulkRulesAfter(rejected)).toEqual(strict(1));
    expect(rejectRules(rejected, by(ben), t0)).toBe(rejected);
    expect(() => approveRules(rejected, by(), t0)).toThrow(/REJECTED/);
  });

  test("comes too late for what is in force", () => {
    const change = approveRules(proposed(strict(1), { bulkRules: strict(2) }), by(), t0);
    expect(() => rejectRules(change, by(), t0 + hour)).toThrow(/IN_FORCE/);
  });
});
