/** How long the work on many accounts takes, and what it costs (docs/run/capacity.md). */
import { shardCount } from "../../src/points/contract/points.ts";
import { formatTime, type Load, onDemandDollars, type Settings, times } from "./formulas.ts";
import { costs, limits, measured } from "./units.ts";

/** Units of the expiry index for an account whose oldest month changes: a deletion and a put. */
const indexWrites = 2;

/** Accounts a second of all index partitions, which take their changes side by side. */
const indexRate = (shardCount * limits.partitionWrites) / indexWrites;

/** Work on many accounts of one program. */
interface LongWork {
  readonly name: string;
  readonly units: { readonly writes: number; readonly reads: number };
  /** Accounts or rows a second with so many workers, if the tables take them. */
  rate(workers: number): number;
}

type Paces = Pick<Settings, "sweepChangesPerSecond" | "bulkRowsPerSecond">;

/** Month ends, notices and bulk grants, at the paces of the settings. */
function longWorks({ sweepChangesPerSecond, bulkRowsPerSecond }: Paces): LongWork[] {
  const sweepRate = (workers: number) => workers * sweepChangesPerSecond;
  return [
    {
      name: "a month end",
      units: costs.expire,
      rate: (workers) => Math.min(indexRate, sweepRate(workers)),
    },
    { name: "notices of expiry", units: costs.notify, rate: sweepRate },
    {
      name: "rows of bulk grants",
      units: { writes: measured.rowWrites, reads: 1 },
      rate: (workers) => workers * bulkRowsPerSecond,
    },
  ];
}

/** What each of them takes for all members, or the rows of a month, with so many workers. */
export const durations = (load: Load, settings: Paces, workers: number) =>
  longWorks(settings).map(({ name, units, rate }) => {
    const count = name === "rows of bulk grants" ? load.rows : load.members;
    return {
      name,
      count,
      seconds: count / rate(workers),
      writesPerSecond: rate(workers) * units.writes,
      dollars: onDemandDollars(times(units, count)),
    };
  });

/** The table of docs/run/capacity.md. */
export function durationTable(settings: Paces): string {
  const workers = [2, 16];
  const rows = longWorks(settings).flatMap(({ name, units, rate }) => {
    const counts = name === "rows of bulk grants" ? [1e7] : [1e6, 1e8];
    return counts.map((count) => {
      const cells = workers.map((each) => {
        const writes = Math.round(rate(each) * units.writes).toLocaleString("en");
        return `${formatTime(count / rate(each))}, ${writes} units a second`;
      });
      const dollars = onDemandDollars(times(units, count));
      const price = `$${Math.round(dollars).toLocaleString("en")}`;
      return `| ${[name, count.toLocaleString("en"), ...cells, price].join(" | ")} |`;
    });
  });
  const heads = workers.map((each) => `${each} workers`);
  const head = `| work | accounts or rows | ${heads.join(" | ")} | on demand |`;
  return [head, "|---|---|---|---|---|", ...rows].join("\n");
}
