/** How long a liability report takes, and what it costs (docs/capacity.md). */
import { formatTime, onDemandDollars } from "./formulas.ts";
import { costs, limits, stored } from "./units.ts";

const accounts = 1e6;

/** Ledger entries of an account, each with its event key. */
const entries = 20;

/** Read units of the scan that finds an account: its items and those of its ledger. */
const scanUnits = (stored.member + entries * stored.grant) / 4_096;

/** The table of docs/capacity.md. */
export function reportTable(): string {
  const rates = [limits.newTableReads, limits.tableReads];
  const heads = rates.map((reads) => `${reads.toLocaleString("en")} read units a second`);
  const rows = [0, 1].map((changed) => {
    const reads = accounts * (scanUnits + changed * costs.past.reads);
    const dollars = onDemandDollars({ reads, writes: 0 });
    const cells = [
      changed === 0 ? "no account" : "every account",
      `${(reads / 1e6).toFixed(1)} million`,
      ...rates.map((rate) => formatTime(reads / rate)),
      `$${dollars.toFixed(2)}`,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const names = ["changed since", "read units", ...heads, "on demand"];
  return [`| ${names.join(" | ")} |`, "|---|---|---|---|---|", ...rows].join("\n");
}
