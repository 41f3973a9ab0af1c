/** Tests the sums of liability reports. */
import { expect, test } from "vitest";
import { addCounts } from "../../../src/platform/words/sums.ts";
import { type Account, emptyAccount } from "../../../src/points/rules/account.ts";
import {
  type Liability,
  liabilityOf,
  noLiability,
  outstandingOf,
} from "../../../src/points/rules/liability.ts";

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
  expect(addCounts(addCounts(noLiability, liability), liability).held).toBe("14");
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
  const sum = addCounts(large("9007199254740991"), large("9007199254740993"));
  expect(sum).toEqual({ ...large("18014398509481984"), accounts: 2, members: 2 });
});

test("what is no whole number is not added", () => {
  expect(() => addCounts(noLiability, large("NaN"))).toThrow(SyntaxError);
});

test("the outstanding points are added up, and have their months in order", () => {
  const months = { [january]: "18014398509481984", [january - 1]: "1" };
  const later = { lifetimeMonths: 9, effectiveTime: 2 };
  const lengthened = { ...program, lifetimes: [...program.lifetimes, later] };
  expect(outstandingOf(lengthened, { months }, 1)).toEqual({
    outstanding: 18014398509481985n,
    buckets: [
      { month: january - 1, expireTime: Date.UTC(2026, 1, 1), points: "1" },
      { month: january, expireTime: Date.UTC(2026, 2, 1), points: "18014398509481984" },
    ],
  });
});
