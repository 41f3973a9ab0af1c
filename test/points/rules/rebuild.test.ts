/** Tests that a ledger gives its account again, and that a comparison finds every difference. */
import { describe, expect, test } from "vitest";
import { type Account, buckets } from "../../../src/points/rules/account.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import {
  addEntry,
  compare,
  rebuildFromLedger,
  startSum,
} from "../../../src/points/rules/rebuild.ts";
import { createLedger, day, program } from "../../support/fixtures/ledger-fixture.ts";

const three = program(3);

/** A ledger with every type of entry in it. */
function fullLedger() {
  const ledger = createLedger(three);
  ledger.grant(day("2026-01-10"), "jan", 10);
  ledger.grant(day("2026-02-10"), "feb", 20);
  ledger.use(day("2026-02-11"), "use", 15);
  ledger.grant(day("2026-04-10"), "apr", 30);
  ledger.refund(day("2026-04-11"), "refund", "use");
  ledger.revoke(day("2026-04-12"), "revoke", "feb");
  ledger.freeze(day("2026-04-13"), "freeze");
  return ledger;
}

function sumOf(entries: readonly LedgerEntry[]) {
  const sum = startSum();
  for (const entry of entries) addEntry(sum, entry);
  return sum;
}

const differences = (
  account: Account | undefined,
  entries: readonly LedgerEntry[],
  now = day("2026-04-20"),
  of: Program = three,
) => compare(account, sumOf(entries), of, "u", now).differences;

describe("the sum of a ledger", () => {
  test("gives the account, field for field", () => {
    const { account, entries } = fullLedger();
    expect(new Set(entries.map(({ type }) => type)).size).toBe(6);
    const { oldest: _, ...rest } = rebuildFromLedger(sumOf(entries), three, "u") as Account;
    const { oldest: _o, ...wanted } = account;
    expect(rest).toEqual(wanted);
  });

  test("does not read types", () => {
    const { account, entries } = fullLedger();
    const strange = entries.map((entry) => ({ ...entry, type: "HELD" as never }));
    expect(differences(account, strange)).toEqual([]);
  });

  test("of nothing is nothing", () => {
    expect(rebuildFromLedger(startSum(), three, "u")).toBeUndefined();
    expect(differences(undefined, [])).toEqual([]);
  });
});

describe("comparing", () => {
  test("finds nothing at any later time, also after month ends and lengthenings", () => {
    const { account, entries } = fullLedger();
    const longer = program(3, {
      lifetimes: [
        { lifetimeMonths: 3, effectiveTime: 0 },
        { lifetimeMonths: 12, effectiveTime: day("2026-04-15") },
      ],
    });
    for (const now of ["2026-01-01", "2026-04-13", "2026-05-01", "2026-06-01", "2030-01-01"]) {
      expect(differences(account, entries, day(now))).toEqual([]);
      expect(differences(account, entries, day(now), longer)).toEqual([]);
    }
  });

  test.each<[string, (account: Account) => Account, string[]]>([
    [
      "a lost point",
      (a) => ({ ...a, slots: a.slots.map((n) => Math.max(n - 1, 0)) }),
      ["available_points"],
    ],
    ["a total", (a) => ({ ...a, totals: { ...a.totals, usedPoints: 14 } }), ["totals.used_points"]],
    ["the frozen flag", (a) => ({ ...a, frozen: false }), ["frozen"]],
    ["the number", (a) => ({ ...a, last: a.last - 1 }), ["last"]],
  ])("finds %s", (_, damage, fields) => {
    const { account, entries } = fullLedger();
    const found = differences(damage(account), entries);
    expect(found.map(({ field }) => field)).toEqual(expect.arrayContaining(fields));
  });

  test("finds points in the wrong month", () => {
    const { account, entries } = fullLedger();
    const [a, b, c] = account.slots as [number, number, number];
    const found = differences({ ...account, slots: [b, c, a] }, entries);
    expect(found.map(({ field }) => field)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^buckets\[2026-0[2-4]\]$/)]),
    );
    expect(found.map(({ field }) => field)).not.toContain("available_points");
  });

  test("finds faults of the ledger itself", () => {
    const { account, entries } = fullLedger();
    const without = entries.filter(({ number }) => number !== 3);
    const gap = differences(account, without).map(({ field }) => field);
    expect(gap).toContain("entries[4].number");
    expect(gap).toContain("entries[4].available_points");
    const wrong = entries.map((entry) =>
      entry.number === 2 ? { ...entry, availablePoints: 31 } : entry,
    );
    expect(differences(account, wrong)).toEqual([
      { field: "entries[2].available_points", expected: "30", actual: "31" },
    ]);
    const late = entries.map((entry) =>
      entry.number === 2 ? { ...entry, createTime: day("2027-01-01") } : entry,
    );
    expect(differences(account, late).map(({ field }) => field)).toContain(
      "entries[3].create_time",
    );
  });

  test("finds a snapshot that is not what the entries add up to", () => {
    const { account, entries } = fullLedger();
    const { totals } = account;
    const last = entries.at(-1) as LedgerEntry;
    const differencesWith = (snapshot: LedgerEntry["snapshot"] & object) =>
      differences(account, [...entries.slice(0, -1), { ...last, snapshot }]);
    const months = buckets(account);
    expect(differencesWith({ months, totals })).toEqual([]);
    const wrongTotals = { ...totals, usedPoints: 1 };
    for (const snapshot of [
      { months: [], totals },
      { months, totals: wrongTotals },
    ]) {
      const [found, ...more] = differencesWith(snapshot);
      expect([found?.field, more]).toEqual([`entries[${last.number}].snapshot`, []]);
      expect(found?.expected).toContain("2026-04: 30");
    }
  });

  test("finds an account without its ledger and a ledger without its account", () => {
    const { account, entries } = fullLedger();
    expect(differences(undefined, entries)).toEqual([
      { field: "last", expected: String(entries.length), actual: "0" },
    ]);
    const bare = differences(account, []).map(({ field }) => field);
    expect(bare).toEqual(
      expect.arrayContaining(["last", "available_points", "frozen", "totals.issued_points"]),
    );
  });
});
