/** Tests accounts of the past: both ways to them give what was shown live at that instant. */
import { deepStrictEqual } from "node:assert";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Account } from "../../src/domain/account.ts";
import { availablePointsOf, buckets } from "../../src/domain/account.ts";
import type { LedgerEntry } from "../../src/domain/ledger.ts";
import { formatMonth } from "../../src/domain/month.ts";
import { accountAsOf, accountByEntries, programAsOf, withSnapshot } from "../../src/domain/past.ts";
import { expireForMonthEnd } from "../../src/domain/points.ts";
import { expireTime, type Program } from "../../src/domain/program.ts";
import { addEntry, startSum } from "../../src/domain/rebuild.ts";
import { createLedger, day, months, program } from "../support/fixtures/ledger-fixture.ts";
import {
  lotAt,
  Oracle,
  type Request,
  type Rules,
  type Shown,
  startOfMonth,
} from "../support/models/points-oracle.ts";

const zones = ["Asia/Tokyo", "America/Havana", "Asia/Beirut", "UTC"];
const small = fc.integer({ min: 1, max: 60 });
const back = fc.nat(8);

/** A request, or what else happens to an account; `of` counts back to an earlier request. */
const steps = fc.oneof(
  { weight: 8, arbitrary: fc.record({ op: fc.constant("grant" as const), points: small }) },
  { weight: 6, arbitrary: fc.record({ op: fc.constant("use" as const), points: small }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("refund" as const),
      of: back,
      points: fc.option(small, { nil: undefined }),
      policy: fc.constantFrom("ORIGINAL_EXPIRY" as const, "CURRENT_MONTH" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("revoke" as const), of: back }) },
  { weight: 1, arbitrary: fc.constant({ op: "freeze" as const }) },
  { weight: 2, arbitrary: fc.constant({ op: "unfreeze" as const }) },
  { weight: 2, arbitrary: fc.constant({ op: "sweep" as const }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("lengthen" as const), by: fc.nat(5) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("month" as const),
      months: fc.integer({ min: 0, max: 4 }),
      ms: fc.constantFrom(-1, 0, 1, 86_400_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant("wait" as const), ms: fc.nat(200_000_000) }),
  },
);

const histories = fc.record({
  timeZone: fc.constantFrom(...zones),
  lifetime: fc.constantFrom(1, 2, 3, 12),
  played: fc.array(steps, { minLength: 100, maxLength: 250 }),
});

type History = typeof histories extends fc.Arbitrary<infer H> ? H : never;

/** Plays a history on the oracle and, of what it does not refuse, on the domain. */
function play({ timeZone, lifetime, played }: History) {
  const rules: Rules = { timeZone, lifetimes: [{ lifetimeMonths: lifetime, effectiveTime: 0 }] };
  const of = (): Program => program(1, { timeZone, lifetimes: structuredClone(rules.lifetimes) });
  const oracle = new Oracle(rules);
  const ledger = createLedger(of());
  const live = new Map<number, Shown>();
  const ids = { grant: [] as string[], use: [] as string[] };
  let now = Date.UTC(2026, 0, 10);
  const request = (step: (typeof played)[number], id: string): Request | undefined => {
    const common = { id, reason: "" };
    switch (step.op) {
      case "grant":
        return { ...common, op: "grant", points: step.points };
      case "use":
        return { ...common, op: "use", points: step.points, partial: true };
      case "refund": {
        const use = ids.use.at(-1 - step.of) ?? "nothing";
        return { ...common, op: "refund", use, points: step.points, policy: step.policy };
      }
      case "revoke":
        return { ...common, op: "revoke", grant: ids.grant.at(-1 - step.of) ?? "nothing" };
      case "freeze":
      case "unfreeze":
        return { ...common, op: step.op };
      default:
        return undefined;
    }
  };
  for (const [i, step] of played.entries()) {
    if (step.op === "month") {
      now = Math.max(startOfMonth(timeZone, lotAt(timeZone, now) + step.months) + step.ms, now);
    } else if (step.op === "wait") now += step.ms;
    else if (step.op === "lengthen") {
      const lifetimeMonths = (rules.lifetimes.at(-1)?.lifetimeMonths ?? 0) + step.by;
      if (step.by > 0 && lifetimeMonths <= 36)
        rules.lifetimes.push({ lifetimeMonths, effectiveTime: now });
      ledger.setProgram(of());
    } else if (step.op === "sweep") {
      if (oracle.sweep(now)) {
        const swept = expireForMonthEnd(ledger.account, of(), now);
        ledger.put(swept.account, withSnapshot(swept.account, swept.entries));
      }
    }
    const asked = request(step, `e${i}`);
    if (asked && "line" in oracle.apply(asked, now)) {
      apply(ledger, now, asked);
      if (asked.op === "grant" || asked.op === "use") ids[asked.op].push(asked.id);
    }
    live.set(now, oracle.shown(now));
  }
  return { ledger, live, program: of() };
}

function apply(ledger: ReturnType<typeof createLedger>, now: number, asked: Request): void {
  const { id } = asked;
  if (asked.op === "grant") ledger.grant(now, id, asked.points);
  else if (asked.op === "use") ledger.use(now, id, asked.points, true);
  else if (asked.op === "refund") ledger.refund(now, id, asked.use, asked.points, asked.policy);
  else if (asked.op === "revoke") ledger.revoke(now, id, asked.grant);
  else ledger.freeze(now, id, asked.op === "freeze");
}

/** What a reader sees of an account, as the oracle shows it. */
const shown = (account: Account, of: Program): Omit<Shown, "last"> => ({
  balance: availablePointsOf(account),
  lots: buckets(account).map(({ month, points }) => ({
    month: formatMonth(month),
    points,
    expireTime: expireTime(of, month),
  })),
  totals: { ...account.totals },
  frozen: account.frozen,
});

/** The entries up to `asOf`, newest first, down to the latest snapshot. */
function upTo(entries: readonly LedgerEntry[], asOf: number): LedgerEntry[] {
  const newestFirst = entries.filter(({ createTime }) => createTime <= asOf).toReversed();
  const at = newestFirst.findIndex(({ snapshot }) => snapshot);
  return at < 0 ? newestFirst : newestFirst.slice(0, at + 1);
}

describe("an account of the past", () => {
  const three = program(3);

  /** January's points, of which 5 are left, expire at the first instant of April. */
  function expiredLate() {
    const ledger = createLedger(three);
    ledger.grant(day("2026-01-10"), "jan", 10);
    ledger.use(day("2026-02-10"), "use", 5);
    ledger.grant(day("2026-04-10"), "apr", 30);
    return ledger;
  }

  const asOf = ({ account, entries }: ReturnType<typeof createLedger>, instant: number) =>
    accountAsOf(three, account, entries.toReversed(), instant);

  test("has no points that had expired, although their entry was recorded later", () => {
    const ledger = expiredLate();
    const april = day("2026-04-01") - 12 * 3_600_000;
    expect(ledger.entries.map(({ type }) => type)).toEqual(["ISSUED", "USED", "EXPIRED", "ISSUED"]);
    expect(months(asOf(ledger, april - 1))).toEqual({ "2026-01": 5 });
    const { totals, ...expired } = asOf(ledger, april);
    expect(months({ totals, ...expired })).toEqual({});
    expect(totals).toMatchObject({ issuedPoints: 10, usedPoints: 5, expiredPoints: 5 });
  });

  test("includes every entry of its very instant, and is empty before the first", () => {
    const ledger = expiredLate();
    ledger.grant(day("2026-04-10"), "more", 1);
    expect(months(asOf(ledger, day("2026-04-10")))).toEqual({ "2026-04": 31 });
    expect(asOf(ledger, day("2026-04-10") - 1).last).toBe(3);
    const empty = asOf(ledger, day("2026-01-10") - 1);
    expect(empty).toMatchObject({ last: 0, frozen: false, totals: { issuedPoints: 0 } });
  });

  test("was frozen or not", () => {
    const ledger = expiredLate();
    ledger.freeze(day("2026-04-11"), "freeze");
    ledger.freeze(day("2026-04-12"), "unfreeze", false);
    expect(asOf(ledger, day("2026-04-11")).frozen).toBe(true);
    expect(asOf(ledger, day("2026-04-12")).frozen).toBe(false);
    expect(asOf(ledger, day("2026-04-10")).frozen).toBe(false);
  });

  test("does not know a later lengthening", () => {
    const ledger = createLedger(three);
    ledger.grant(day("2026-01-10"), "jan", 10);
    const effectiveTime = day("2026-02-01");
    const longer = program(3, {
      lifetimes: [...three.lifetimes, { lifetimeMonths: 12, effectiveTime }],
    });
    ledger.setProgram(longer);
    ledger.grant(day("2026-05-01"), "may", 1);
    const instant = day("2026-01-20");
    const past = accountAsOf(longer, ledger.account, ledger.entries.toReversed(), instant);
    expect(past.slots).toHaveLength(3);
    expect(programAsOf(longer, instant).lifetimes).toEqual(three.lifetimes);
    expect(programAsOf(longer, effectiveTime).lifetimes).toEqual(longer.lifetimes);
    expect(programAsOf(longer, -1).lifetimes).toEqual(three.lifetimes);
  });

  test("is refused when an entry is missing that it needs", () => {
    const { account, entries } = expiredLate();
    const newestFirst = entries.toReversed();
    const damaged = expect.objectContaining({ reason: "LEDGER_DAMAGED" });
    const instant = day("2026-02-10");
    for (const lost of [1, 2, 3, 4]) {
      const left = newestFirst.filter(({ number }) => number !== lost);
      const before = () => accountAsOf(three, account, left, instant - 1);
      if (lost > 1) expect(before, `${lost}`).toThrow(damaged);
    }
    expect(() => accountAsOf(three, account, [], instant)).toThrow(damaged);
    const after = () => accountByEntries(three, "u", newestFirst.slice(2, 3), instant);
    expect(after).toThrow(damaged);
    expect(accountByEntries(three, "u", newestFirst.slice(2), instant).last).toBe(2);
  });

  test("is what was shown at that instant, from either side", () => {
    let snapshots = 0;
    const property = fc.property(histories, (history) => {
      const { ledger, live, program: current } = play(history);
      const { entries } = ledger;
      snapshots += entries.filter(({ snapshot }) => snapshot).length;
      const newestFirst = entries.toReversed();
      for (const [asOf, { last: _, ...expected }] of live) {
        const of = programAsOf(current, asOf);
        const after = accountByEntries(current, "u", upTo(entries, asOf), asOf);
        deepStrictEqual(shown(after, of), expected);
        if (!ledger.account) continue;
        const before = accountAsOf(current, ledger.account, newestFirst, asOf);
        deepStrictEqual(shown(before, of), expected);
      }
      const sum = startSum();
      for (const entry of entries) addEntry(sum, entry);
      expect(sum.faults).toEqual([]);
    });
    fc.assert(property, { numRuns: 60 });
    expect(snapshots).toBeGreaterThan(60);
  });
});
