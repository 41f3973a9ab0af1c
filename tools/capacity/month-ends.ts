/** How long a month end takes, and what it costs (docs/run/capacity.md). */
import { shardCount } from "../../src/points/contract/points.ts";
import { formatTime, onDemandDollars, times, vcpus } from "./formulas.ts";
import { assumed, costs, limits } from "./units.ts";

/** Units of the expiry index for an account whose oldest month changes: a deletion and a put. */
const indexWrites = 2;

/** Accounts a second of all index partitions, which take their changes side by side. */
const indexRate = (shardCount * limits.partitionWrites) / indexWrites;

/** Accounts a second, with so many write units a second of the table. */
const accountsPerSecond = (tableWrites: number): number =>
  Math.min(indexRate, tableWrites / costs.expire.writes);

/** The table of docs/run/capacity.md. */
export function monthEndTable(): string {
  const rates = [limits.newTableWrites, limits.tableWrites].map((writes) => {
    const rate = accountsPerSecond(writes);
    return { writes, rate, workers: vcpus(rate, assumed.rowCpuMs) };
  });
  const heads = rates.map(
    (each) => `${each.writes.toLocaleString("en")} write units a second, ${each.workers} workers`,
  );
  const rows = [1e6, 1e8].map((accounts) => {
    const dollars = onDemandDollars(times(costs.expire, accounts)).toFixed(0);
    const durations = rates.map(({ rate }) => formatTime(accounts / rate));
    return `| ${[accounts.toLocaleString("en"), ...durations, `$${dollars}`].join(" | ")} |`;
  });
  return [`| accounts | ${heads.join(" | ")} | on demand |`, "|---|---|---|---|", ...rows].join(
    "\n",
  );
}
