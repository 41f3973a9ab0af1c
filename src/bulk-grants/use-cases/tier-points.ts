/** Reads and writes, in the transaction of a bulk grant, what the tiers of its program count. */

import type { Transaction } from "../../platform/ports/engine.ts";
import type { Instant } from "../../platform/words/month.ts";
import { ruleChangeRef } from "../../points/ports/records.ts";
import type { BulkRules } from "../../points/rules/bulk-rules.ts";
import { bulkRulesAfter } from "../../points/rules/rule-changes.ts";
import { pointsWindowRef } from "../ports/records.ts";
import type { BulkGrant } from "../rules/bulk-grant.ts";
import { count, type PointsWindow, uncount, windowAt, withGranted } from "../rules/tier-points.ts";

/** The rules in force, and the points that their tiers count. */
export interface Tiers {
  readonly rules: BulkRules;
  readonly window: PointsWindow;
}

/** The records that `readTiers` and `putTierPoints` need. */
export const tierRefs = (programId: string) => [
  ruleChangeRef(programId),
  pointsWindowRef(programId),
];

/** Reads the rules in force. */
export const readRules = (tx: Transaction, programId: string): BulkRules =>
  bulkRulesAfter(tx.get(ruleChangeRef(programId)));

/** Reads the rules, and what the tiers count besides revision `number` of a bulk grant. */
export function readTiers(
  tx: Transaction,
  programId: string,
  of: BulkGrant | undefined,
  number: number,
  now: Instant,
): Tiers {
  return {
    rules: readRules(tx, programId),
    window: readBeside(tx, programId, of, number, now),
  };
}

/**
 * Reads what is counted besides revision `number`. Of an earlier revision the points that it has
 * granted stay counted: its other rows can be granted only when they are sent again.
 */
function readBeside(
  tx: Transaction,
  programId: string,
  of: BulkGrant | undefined,
  number: number,
  now: Instant,
): PointsWindow {
  const window = windowAt(tx.get(pointsWindowRef(programId)), now);
  if (!of?.tierPoints) return window;
  return of.revision.number === number
    ? uncount(window, of.tierPoints)
    : withGranted(window, of.tierPoints, of.result?.grantedPoints ?? 0);
}

/** Counts what a change of a bulk grant counts. */
export function putTierPoints(
  tx: Transaction,
  before: BulkGrant | undefined,
  after: BulkGrant,
  now: Instant,
): void {
  const { programId, tierPoints, revision } = after;
  const isSameRevision = before?.revision.number === revision.number;
  if (isSameRevision && before.tierPoints === tierPoints) return;
  if (!before?.tierPoints && !tierPoints) return;
  const beside = readBeside(tx, programId, before, revision.number, now);
  tx.put(pointsWindowRef(programId), tierPoints ? count(beside, tierPoints) : beside);
}
