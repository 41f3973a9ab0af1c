/** Compares restored tables with each other: says what was lost, and mends what can be mended. */

import { DomainError } from "../../src/platform/words/errors.ts";
import { compareBulkGrants } from "./compare-bulk-grants.ts";
import { compareNotifications } from "./compare-notifications.ts";
import { comparePoints } from "./compare-points.ts";
import { compareReactions } from "./compare-reactions.ts";
import { compareReservations } from "./compare-reservations.ts";
import type { CompareDeps, Finding } from "./findings.ts";

/** A repair may show a further finding in the next pass; so many passes are never needed. */
const maxPasses = 5;

/**
 * Compares all tables, one after another, while no server and no worker uses them; with `repair`
 * until a pass mends nothing more. Reports at once what was mended, and at the end what is left.
 * May be repeated: what was mended is not found again. Throws CONTENDED when even the last pass
 * mends something, THROTTLED and STORE_UNAVAILABLE.
 */
export async function compareTables(deps: CompareDeps): Promise<void> {
  let left: readonly Finding[] = [];
  try {
    for (let pass = 1; pass <= maxPasses; pass++) {
      const found = await compareOnce(deps);
      left = [...refusedBefore(left, found), ...found.filter((each) => !isMended(each))];
      if (!found.some(isMended)) return;
    }
  } finally {
    for (const finding of left) deps.report(finding);
  }
  throw new DomainError("CONTENDED", `${maxPasses} passes have mended something; run it again`);
}

const isMended = ({ outcome }: Finding) => outcome === "MENDED";

/**
 * The refusals of earlier passes of which this one has found nothing: a refusal may change a
 * record, as that of a reservation sets it FAILED, and only this finding reports the lost grant.
 */
function refusedBefore(left: readonly Finding[], found: readonly Finding[]): Finding[] {
  const nameOf = ({ kind, name }: Finding) => `${kind} ${name}`;
  const again = new Set(found.map(nameOf));
  return left.filter((each) => each.outcome === "REFUSED" && !again.has(nameOf(each)));
}

/** Compares all tables once. Reports what it mends, and returns all that it finds, each once. */
async function compareOnce(all: CompareDeps): Promise<Finding[]> {
  const found = new Map<string, Finding>();
  const report = (finding: Finding) => {
    const text = JSON.stringify(finding);
    if (isMended(finding) && !found.has(text)) all.report(finding);
    found.set(text, finding);
  };
  const deps = { ...all, report };
  const granted = await comparePoints(deps);
  await compareReservations(deps);
  await compareBulkGrants(deps, granted);
  await compareReactions(deps);
  await compareNotifications(deps);
  return [...found.values()];
}
