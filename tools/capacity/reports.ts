/** How long a liability report and an export take, and what they cost (docs/run/capacity.md). */
import { exportKind } from "../../src/points/contract/exports.ts";
import { liabilityKind } from "../../src/points/contract/liability-reports.ts";
import { formatTime, onDemandDollars } from "./formulas.ts";
import { assumed, costs, limits, stored } from "./units.ts";

/** Read units of an account in a scan. */
const scanUnits = stored.account / 4_096;

/** Ledgers a second that steps read which have so many of them under way in each segment. */
const ledgersPerSecond = (segments: number, together: number): number =>
  (segments * together * 1_000) / assumed.queryMs;

/** A run: the read units of an account, and accounts a second, by each worker and at the most. */
interface Run {
  readonly name: string;
  readonly units: number;
  readonly perWorker: number;
  readonly most: number;
}

/** An export rests after each page as long as the page took. */
const runs: readonly Run[] = [
  {
    name: "report, no account changed since",
    units: scanUnits,
    perWorker: assumed.scannedPerWorker,
    most: Number.POSITIVE_INFINITY,
  },
  {
    name: "report, every account changed since",
    units: scanUnits + costs.past.reads,
    perWorker: assumed.ledgersPerWorker,
    most: ledgersPerSecond(liabilityKind.segments, 4),
  },
  {
    name: "export, no account changed since its beginning",
    units: scanUnits,
    perWorker: assumed.scannedPerWorker / 2,
    most: Number.POSITIVE_INFINITY,
  },
  {
    name: "export, every account changed since its beginning",
    units: scanUnits + costs.window.reads,
    perWorker: assumed.ledgersPerWorker,
    most: ledgersPerSecond(exportKind.segments, 16) / 2,
  },
];

/** Workers, and the read units a second of a table with its default quota or a new one. */
const stages = [
  { workers: 2, reads: limits.newTableReads },
  { workers: 10, reads: limits.tableReads },
];

/** The table of docs/run/capacity.md. */
export function reportTable(): string {
  const heads = stages.map(
    ({ workers, reads }) => `${workers} workers, ${reads.toLocaleString("en")} read units a second`,
  );
  const rows = [1e6, 1e8].flatMap((accounts) =>
    runs.map(({ name, units, perWorker, most }) => {
      const reads = accounts * units;
      const times = stages.map(({ workers, reads: unitsPerSecond }) => {
        const rate = Math.min(workers * perWorker, most, unitsPerSecond / units);
        return formatTime(accounts / rate);
      });
      // Nothing but the turn is written.
      const dollars = onDemandDollars({ reads, writes: 0 }).toFixed(2);
      const million = `${Number((reads / 1e6).toPrecision(2))} million`;
      const cells = [accounts.toLocaleString("en"), name, million, ...times, `$${dollars}`];
      return `| ${cells.join(" | ")} |`;
    }),
  );
  const names = ["accounts", "run", "read units", ...heads, "on demand"];
  return [`| ${names.join(" | ")} |`, "|---|---|---|---|---|---|", ...rows].join("\n");
}
