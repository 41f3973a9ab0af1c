/** Tests the sums of liability reports. */
import { expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { type Account, emptyAccount } from "../../../src/points/rules/account.ts";
import {
  finishReport,
  type LiabilityReport,
  liabilityOf,
} from "../../../src/points/rules/liability.ts";
import {
  addLiability,
  type Liability,
  noLiability,
} from "../../../src/points/rules/liability-sums.ts";

const program = {
  programId: "p",
  timeZone: "UTC",
  lifetimes: [{ lifetimeMonths: 2, effectiveTime: 0 }],
  createTime: 0,
};
const january = 12 * 2026;
const empty = emptyAccount(program, "u", Date.UTC(2026, 0, 15));
const account: Account = {
  ...empty,
  slots: [7, 3],
  totals: { ...empty.totals, issuedPoints: 12, usedPoints: 2 },
  last: 4,
};

test("an account adds its months, and its totals less those at the start", () => {
  const start = { ...empty, totals: { ...empty.totals, issuedPoints: 5 }, last: 1 };
  const none = {
    ...{ expiredPoints: "0", refundedPoints: "0", revokedPoints: "0" },
    ...{ heldPoints: "0", capturedPoints: "0", releasedPoints: "0" },
  };
  const months = { [january - 1]: "3", [january]: "7" };
  const ones = { accounts: 1, members: 1, months };
  const inPeriod = { issuedPoints: "7", usedPoints: "2", ...none };
  expect(liabilityOf(account, start)).toEqual({ ...ones, totals: inPeriod });
  const ofAllTime = { issuedPoints: "12", usedPoints: "2", ...none };
  expect(liabilityOf(account, undefined)).toEqual({ ...ones, totals: ofAllTime });
});

test("what was held in the period is a total, and what is held at its end a sum", () => {
  const before = { ...account, totals: { ...account.totals, heldPoints: 5 } };
  const totals = { ...before.totals, heldPoints: 9, capturedPoints: 2 };
  const liability = liabilityOf({ ...account, totals }, before);
  expect(liability.totals).toMatchObject({ heldPoints: "4", capturedPoints: "2" });
  expect(liability.held).toBe("7");
  expect(addLiability(addLiability(noLiability, liability), liability).held).toBe("14");
  expect(liabilityOf({ ...account, slots: [0, 0], totals }, before).members).toBe(1);
});

test("an account without entries adds nothing", () => {
  expect(liabilityOf(empty, undefined)).toEqual(noLiability);
});

const large = (points: string): Liability => ({
  accounts: 1,
  members: 1,
  months: { [january]: points },
  totals: { issuedPoints: points },
});

test("sums may exceed the safe integers", () => {
  const sum = addLiability(large("9007199254740991"), large("9007199254740993"));
  expect(sum).toEqual({ ...large("18014398509481984"), accounts: 2, members: 2 });
});

test("what is no whole number is not added", () => {
  expect(() => addLiability(noLiability, large("NaN"))).toThrow(SyntaxError);
});

const report: LiabilityReport = {
  programId: "p",
  reportId: "r",
  hash: "h",
  caller: asService("tests"),
  asOf: 1,
};

test("a result has the buckets by month, names 20 failures and is replaced", () => {
  const months = { [january]: "18014398509481984", [january - 1]: "1" };
  const failures = Array.from({ length: 30 }, (_, i) => ({ userId: `u${i}`, reason: "INTERNAL" }));
  const counts = { accounts: 2, members: 2, months, totals: {}, failed: 30, failures };
  const finished = finishReport(report, program, counts, 2);
  expect(finished.result).toEqual({
    ...{ accounts: 2, members: 2, totals: {}, failed: 30, failures: failures.slice(0, 20) },
    ...{ endTime: 2, outstanding: "18014398509481985" },
    buckets: [
      { month: january - 1, expireTime: Date.UTC(2026, 1, 1), points: "1" },
      { month: january, expireTime: Date.UTC(2026, 2, 1), points: "18014398509481984" },
    ],
  });
  const again = finishReport(finished, program, { ...counts, accounts: 3 }, 3);
  expect(again.result).toEqual({ ...finished.result, accounts: 3, endTime: 3 });
});
