/** Rebuilds the record of a hold from the entries of its ledger. */

import type { HoldName } from "../../src/due/ports/due.ts";
import { type Hold, type HoldState, longestHoldMs } from "../../src/holds/rules/hold.ts";
import { annotationsOf } from "../../src/platform/words/annotations.ts";
import { noCaller } from "../../src/platform/words/caller.ts";
import type { Points } from "../../src/platform/words/units.ts";
import type { EntryType, LedgerEntry } from "../../src/points/rules/ledger.ts";
import { negative } from "../../src/points/rules/month-changes.ts";
import { isRestOf, pointsOf } from "./rebuild-capture.ts";
import { unknownHash } from "./rebuild-event-key.ts";

/** Names a hold, and the user in whose ledger its entries are. */
export interface LedgerHold extends HoldName {
  readonly userId: string;
}

/**
 * Returns the record of a hold with the captures and the release that the ledger has; without a
 * record, one by the ledger alone. `entries` are those of the hold, and the expiries that its
 * release has caused. Undefined when they are not of one hold: there is not one HELD entry, or the
 * record names another one.
 */
export function rebuildHold(
  name: LedgerHold,
  entries: readonly LedgerEntry[],
  record: Hold | undefined,
): Hold | undefined {
  const ofType = (wanted: EntryType) => entries.filter(({ type }) => type === wanted);
  const [held, second] = ofType("HELD");
  if (!held || second) return undefined;
  const { release: _, ...known } = record ?? recordOf(name, held);
  if (known.userId !== name.userId || known.entryNumber !== held.number) return undefined;
  const [released] = ofType("RELEASED");
  const captured = ofType("CAPTURED");
  const last = entries.at(-1) as LedgerEntry;
  const capturedPoints = pointsOf(captured);
  return {
    ...known,
    months: held.changes.map(negative),
    state:
      record?.release && released
        ? record.state
        : stateOf(held.points - capturedPoints, released, captured),
    updateTime: last.createTime,
    capturedPoints,
    captureCount: captured.length,
    ...(released && {
      release: {
        points: released.points,
        entryNumber: released.number,
        availablePoints: last.availablePoints,
      },
    }),
  };
}

function stateOf(
  left: Points,
  released: LedgerEntry | undefined,
  captured: readonly LedgerEntry[],
): HoldState {
  if (left === 0) return "CAPTURED";
  if (!released) return "HELD";
  if (captured.some((entry) => isRestOf(entry, released))) return "CAPTURED";
  return released.caller.service === noCaller.service ? "EXPIRED" : "RELEASED";
}

/**
 * The record of a hold of which only the ledger knows. It is due as late as it can have been, and
 * its points expire when they would have expired. The hash is that of no request: a repeated call
 * is refused as ID_REUSED.
 */
const recordOf = ({ programId, holdId, userId }: LedgerHold, held: LedgerEntry): Hold => ({
  ...{ programId, holdId, userId, months: [], until: held.createTime + longestHoldMs },
  ...{ expiredPointsPolicy: "ORIGINAL_EXPIRY", hash: unknownHash(holdId), state: "HELD" },
  ...{ ...annotationsOf(held), creator: held.caller },
  ...{ createTime: held.createTime, updateTime: held.createTime, heldTime: held.createTime },
  ...{ entryNumber: held.number, availablePoints: held.availablePoints },
  ...{ capturedPoints: 0, captureCount: 0 },
});
