/** Tests accounts of the past: they are what was shown live at that instant. */
import { deepStrictEqual } from "node:assert";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatMonth } from "../../../src/platform/words/month.ts";
import {
  type Account,
  availablePointsOf,
  buckets,
  expireTime,
} from "../../../src/points/rules/account.ts";
import { heldNow, type LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { accountByEntries, programAsOf } from "../../../src/points/rules/past.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { addEntry, startSum } from "../../../src/points/rules/rebuild.ts";
import { createLedger, day, months, program } from "../../support/fixtures/ledger-fixture.ts";
import { pastHistories, playPast } from "../../support/models/past-histories.ts";
import type { Shown } from "../../support/models/points-oracle.ts";

/** What a reader sees of an account, as the oracle shows it. */
const shown = (account: Account, of: Program): Omit<Shown, "last" | "holds"> => ({
  balance: availablePointsOf(account),
  lots: buckets(account).map(({ month, points }) => ({
    month: formatMonth(month),
    points,
    expireTime: expireTime(of, month, account.time),
  })),
  totals: { ...account.totals },
  held: heldNow(account.totals),
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

  const asOf = ({ entries }: ReturnType<typeof createLedger>, instant: number) =>
    accountByEntries(three, "u", upTo(entries, instant), instant);

  test("includes every entry of its very instant, and is empty before the first", () => {
    const ledger = expiredLate();
    ledger.grant(day("2026-04-10"), "more", 1);
    expect(months(asOf(ledger, day("2026-04-10")))).toEqual({ "2026-04": 31 });
    expect(asOf(ledger, day("2026-04-10") - 1).last).toBe(3);
    const empty = asOf(ledger, day("2026-01-10") - 1);
    expect(empty).toMatchObject({ last: 0, frozen: false, totals: { issuedPoints: 0 } });
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
    const past = accountByEntries(longer, "u", upTo(ledger.entries, instant), instant);
    expect(past.slots).toHaveLength(3);
    expect(programAsOf(longer, instant).lifetimes).toEqual(three.lifetimes);
    expect(programAsOf(longer, effectiveTime).lifetimes).toEqual(longer.lifetimes);
    expect(programAsOf(longer, -1).lifetimes).toEqual(three.lifetimes);
  });

  test("is refused when an entry is missing that it needs", () => {
    const instant = day("2026-04-10");
    const newestFirst = upTo(expiredLate().entries, instant);
    expect(accountByEntries(three, "u", newestFirst, instant).last).toBe(4);
    for (const lost of [1, 2, 3]) {
      const left = newestFirst.filter(({ number }) => number !== lost);
      expect(() => accountByEntries(three, "u", left, instant), `${lost}`).toThrow(
        expect.objectContaining({ reason: "LEDGER_DAMAGED" }),
      );
    }
  });

  test("is what was shown at that instant", () => {
    let snapshots = 0;
    const property = fc.property(pastHistories, (history) => {
      const { ledger, live, program: current } = playPast(history);
      const { entries } = ledger;
      snapshots += entries.filter(({ snapshot }) => snapshot).length;
      for (const [asOf, { last: _last, holds: _holds, ...expected }] of live) {
        const of = programAsOf(current, asOf);
        const past = accountByEntries(current, "u", upTo(entries, asOf), asOf);
        deepStrictEqual(shown(past, of), expected);
      }
      const sum = startSum();
      for (const entry of entries) addEntry(sum, entry);
      expect(sum.faults).toEqual([]);
    });
    fc.assert(property, { numRuns: 25 });
    expect(snapshots).toBeGreaterThan(25);
  });
});
