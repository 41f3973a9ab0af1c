/** Measures how many accounts a month-end sweep visits without a change. */

import { Random } from "../../examples/random.ts";
import { type Account, availablePointsOf } from "../../src/domain/account.ts";
import { noCaller } from "../../src/domain/caller.ts";
import { monthStart, parseMonth } from "../../src/domain/month.ts";
import { expireForMonthEnd, grant, use } from "../../src/domain/points.ts";
import { lifetimeAt, type Program } from "../../src/domain/program.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { round } from "../support/numbers.ts";

const timeZone = "Asia/Tokyo";
const program: Program = {
  programId: "shop",
  timeZone,
  lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
  createTime: 0,
};
const first = parseMonth("2025-01");
const months = 48;

/** The month, by number, from which visits are counted: the sweeps have run for a year by then. */
const steadyFrom = 24;

/** A customer of the demo's shop, with the mean number and value of purchases. */
interface Customer {
  readonly perMonth: number;
  readonly basket: number;
  account: Account | undefined;
}

/**
 * The share of visited accounts without due points: the index has only a lower bound of the oldest
 * month. It depends on how people use their points, so this plays the demo's shop (examples/) by
 * the rules of the domain for four years, and counts in the last two.
 */
export const expiryUnchanged: Benchmark = {
  names: ["expiry.visited_unchanged"],
  async run(scale) {
    const { visits, unchanged, monthly } = playShop(scale);
    scale.note(`${visits} visits, ${unchanged} without a change; ${monthly} a month`);
    return [
      {
        name: "expiry.visited_unchanged",
        value: round(unchanged / visits),
        unit: "of the accounts visited, in the demo's shop",
        target: "<= 0.1",
        baseline: "",
        counted: true,
      },
    ];
  },
};

function playShop(scale: Scale) {
  const random = new Random(7);
  const customers = Array.from(
    { length: scale.pick(2_000, 100) },
    (): Customer => ({
      perMonth: Math.exp(random.normal() * 0.9 - 0.1),
      basket: 1_800 * Math.exp(random.normal() * 0.5),
      account: undefined,
    }),
  );
  let visits = 0;
  let unchanged = 0;
  for (let month = first; month < first + months; month++) {
    const start = monthStart(timeZone, month);
    for (const customer of customers) {
      // The accounts that are due by the index, before the first purchase of the month.
      const { account } = customer;
      if (account?.oldest !== undefined && account.oldest <= month - lifetimeAt(program, start)) {
        const swept = expireForMonthEnd(account, program, start);
        if (month >= first + steadyFrom) {
          visits += 1;
          if (swept.entries.length === 0) unchanged += 1;
        }
        customer.account = swept.account;
      }
      shopFor(customer, start, random);
    }
  }
  return { visits, unchanged, monthly: round(visits / (months - steadyFrom)) };
}

/** Plays a month: one point for 100 yen; 500 points are used as soon as a balance has them. */
function shopFor(customer: Customer, start: number, random: Random): void {
  const count = random.poisson(customer.perMonth);
  for (let k = 0; k < count; k++) {
    const yen = customer.basket * Math.exp(random.normal() * 0.6);
    const now = start + (k + 1) * 3_600_000;
    const event = { event: { origin: "c", eventId: "e" }, reason: "", caller: noCaller } as const;
    const state = () => ({ program, userId: "u", account: customer.account, now });
    const points = Math.max(1, Math.floor(yen / 100));
    customer.account = grant(state(), event, points).account;
    if (availablePointsOf(customer.account) < 500) continue;
    customer.account = use(state(), event, 500, false).account;
  }
}
