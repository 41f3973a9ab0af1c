/** Compares restored tables with each other: says what was lost, and mends what can be mended. */
import { compareBulkGrants } from "./compare-bulk-grants.ts";
import { compareNotifications } from "./compare-notifications.ts";
import { comparePoints } from "./compare-points.ts";
import { compareReactions } from "./compare-reactions.ts";
import { compareReservations } from "./compare-reservations.ts";
import type { CompareDeps } from "./findings.ts";

/**
 * Compares all tables, one after another, while no server and no worker uses them. Reports each
 * finding; with `repair` after it was mended. May be repeated: what was mended is not found again.
 * Throws THROTTLED and STORE_UNAVAILABLE.
 */
export async function compareTables(deps: CompareDeps): Promise<void> {
  const granted = await comparePoints(deps);
  await compareReservations(deps);
  await compareBulkGrants(deps, granted);
  await compareReactions(deps);
  await compareNotifications(deps);
}
