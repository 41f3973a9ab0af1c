import { Random } from "../../examples/random.ts";
import { type Account, balanceOf } from "../../src/domain/account.ts";
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

/** From here on the index has seen a year of sweeps. */
const steadyFrom = 24;

/** A customer of the demo's shop: how often one comes, and for how much. */
interface Customer {
  readonly perMonth: number;
  readonly basket: number;
  account: Account | undefined;
}

/**
 * How many accounts a sweep visits that have nothing to expire, because the index knows a lower
 * bound only. Depends on how people use their points, so this plays the demo's shop (examples/) by
 * the domain's own rules, for four years, and counts in the last two.
 */
export const expiryVain: Benchmark = {
  names: ["expiry.visits_in_vain"],
  async run(scale) {
    const { visits, vain, due } = playShop(scale);
    scale.note(`${visits} visits, ${vain} in vain; ${due} a month`);
    return [
      {
        name: "expiry.visits_in_vain",
        value: round(vain / visits),
        unit: "of the accounts visited, in the demo's shop",
        target: "<= 0.1",
        baseline: "",
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
  let vain = 0;
  for (let month = first; month < first + months; month++) {
    const start = monthStart(timeZone, month);
    for (const customer of customers) {
      // What is due by the index, before anything else happens in the month.
      const { account } = customer;
      if (account?.oldest !== undefined && account.oldest <= month - lifetimeAt(program, start)) {
        const swept = expireForMonthEnd(account, program, start);
        if (month >= first + steadyFrom) {
          visits += 1;
          if (swept.entries.length === 0) vain += 1;
        }
        customer.account = swept.account;
      }
      shopFor(customer, start, random);
    }
  }
  return { visits, vain, due: round(visits / (months - steadyFrom)) };
}

/** A month of purchases: a point for 100 yen, and 500 are used as soon as they are there. */
function shopFor(customer: Customer, start: number, random: Random): void {
  const count = random.poisson(customer.perMonth);
  for (let k = 0; k < count; k++) {
    const yen = customer.basket * Math.exp(random.normal() * 0.6);
    const now = start + (k + 1) * 3_600_000;
    const event = { event: { origin: "c", eventId: "e" }, reason: "", caller: "" } as const;
    const state = () => ({ program, userId: "u", account: customer.account, now });
    const points = Math.max(1, Math.floor(yen / 100));
    customer.account = grant(state(), event, points).account;
    if (balanceOf(customer.account) < 500) continue;
    customer.account = use(state(), event, 500, false).account;
  }
}
