/** Compares restored tables with each other: says what was lost, and mends what can be mended. */
import { compareBulkGrants } from "./compare-bulk-grants.ts";
import { compareNotifications } from "./compare-notifications.ts";
import { comparePoints } from "./compare-points.ts";
import { compareReactions } from "./compare-reactions.ts";
import { compareReservations } from "./compare-reservations.ts";
import type { CompareDeps } from "./findings.ts";

/** What one pass has mended may show what another one mends; this is far more than it takes. */
const maxPasses = 5;

/**
 * Compares all tables, one after another, while no server and no worker uses them. Reports each
 * finding once; with `repair` after it was mended, until a pass mends nothing more. May be
 * repeated: what was mended is not found again. Throws THROTTLED and STORE_UNAVAILABLE.
 */
export async function compareTables(deps: CompareDeps): Promise<void> {
  const reported = new Set<string>();
  let isMended = true;
  for (let pass = 1; isMended && pass <= maxPasses; pass++) {
    isMended = false;
    await compareOnce({
      ...deps,
      report(finding) {
        isMended ||= finding.outcome === "MENDED";
        const text = JSON.stringify(finding);
        if (!reported.has(text)) deps.report(finding);
        reported.add(text);
      },
    });
  }
}

async function compareOnce(deps: CompareDeps): Promise<void> {
  const granted = await comparePoints(deps);
  await compareReservations(deps);
  await compareBulkGrants(deps, granted);
  await compareReactions(deps);
  await compareNotifications(deps);
}
