/** How long a liability report and an export take, and what they cost (docs/run/capacity.md). */
import { formatTime, onDemandDollars } from "./formulas.ts";
import { costs, limits, stored } from "./units.ts";

const accounts = 1e6;

/** Ledger entries of an account, each with its event key. */
const entries = 20;

/** Read units of the scan that finds an account: its items and those of its ledger. */
const scanUnits = (stored.member + entries * stored.grant) / 4_096;

/** The read units of an account in each run. The scan of an export has all that it writes. */
const runs = {
  "report, no account changed since": scanUnits,
  "report, every account changed since": scanUnits + costs.past.reads,
  "export, whatever its times are": scanUnits,
};

/** The table of docs/run/capacity.md. */
export function reportTable(): string {
  const rates = [limits.newTableReads, limits.tableReads];
  const heads = rates.map((reads) => `${reads.toLocaleString("en")} read units a second`);
  const rows = Object.entries(runs).map(([name, units]) => {
    const reads = accounts * units;
    // Nothing but the turn is written.
    const dollars = onDemandDollars({ reads, writes: 0 });
    const cells = [
      name,
      `${(reads / 1e6).toFixed(1)} million`,
      ...rates.map((rate) => formatTime(reads / rate)),
      `$${dollars.toFixed(2)}`,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const names = ["run", "read units", ...heads, "on demand"];
  return [`| ${names.join(" | ")} |`, "|---|---|---|---|---|", ...rows].join("\n");
}
