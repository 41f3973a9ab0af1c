/** When the class Standard-IA of the table `points` pays (docs/run/capacity.md). */
import { prices } from "./prices.ts";
import { ledgerWrites, stored } from "./units.ts";

/**
 * How many months' grants are stored for what one month's grants cost more to write. From then on a
 * steady load is cheaper.
 */
export function monthsUntilCheaper(): number {
  const moreToWrite = (prices.rareMillionWriteUnits - prices.millionWriteUnits) / 1e6;
  const lessToStore = (prices.storedGb - prices.rareStoredGb) / 1e9;
  return (ledgerWrites * moreToWrite) / (stored.grant * lessToStore);
}
