/** How long a month end takes, and what it costs (docs/capacity.md). */
import { shardCount } from "../../contract/points.ts";
import { prices } from "./prices.ts";
import { assumed, costs, limits } from "./units.ts";

/** Units of the expiry index for an account whose oldest month changes: a deletion and a put. */
const indexWrites = 2;

/** Accounts a second of all index partitions, which take their changes side by side. */
const indexRate = (shardCount * limits.partitionWrites) / indexWrites;

/** Accounts a second, with so many write units a second of the table. */
const accountsPerSecond = (tableWrites: number): number =>
  Math.min(indexRate, tableWrites / costs.expire.writes);

function formatTime(seconds: number): string {
  const hours = seconds / 3_600;
  return hours >= 2 ? `${hours.toPrecision(2)} hours` : `${(seconds / 60).toPrecision(2)} minutes`;
}

/** Workers of one vCPU that expire so many accounts a second. */
const workers = (rate: number): number =>
  Math.ceil((rate * assumed.callCpuMs) / 1_000 / assumed.cpuShare);

/** The table of docs/capacity.md. */
export function monthEndTable(): string {
  const rates = [limits.newTableWrites, limits.tableWrites].map((writes) => {
    const rate = accountsPerSecond(writes);
    return { writes, rate, workers: workers(rate) };
  });
  const heads = rates.map(
    (each) => `${each.writes.toLocaleString("en")} write units a second, ${each.workers} workers`,
  );
  const rows = [1e6, 1e8].map((accounts) => {
    const { writes, reads } = costs.expire;
    const dollars =
      (accounts / 1e6) * (writes * prices.millionWriteUnits + reads * prices.millionReadUnits);
    const times = rates.map(({ rate }) => formatTime(accounts / rate));
    return `| ${[accounts.toLocaleString("en"), ...times, `$${dollars.toFixed(0)}`].join(" | ")} |`;
  });
  return [`| accounts | ${heads.join(" | ")} | on demand |`, "|---|---|---|---|", ...rows].join(
    "\n",
  );
}
