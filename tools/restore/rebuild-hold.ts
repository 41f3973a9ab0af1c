/** Rebuilds the record of a hold from the entries of its ledger. */

import type { HoldName } from "../../src/due/ports/due.ts";
import {
  type Capture,
  captureIdOf,
  type Hold,
  type HoldState,
  longestHoldMs,
} from "../../src/holds/rules/hold.ts";
import { annotationsOf } from "../../src/platform/words/annotations.ts";
import { noCaller } from "../../src/platform/words/caller.ts";
import type { Points } from "../../src/platform/words/units.ts";
import { oneOf, requestHash } from "../../src/platform/work/idempotency.ts";
import { type EntryType, eventName, type LedgerEntry } from "../../src/points/rules/ledger.ts";
import { negative } from "../../src/points/rules/month-changes.ts";
import { unknownHash } from "./rebuild-event-key.ts";

/** Names a hold, and the user in whose ledger its entries are. */
export interface LedgerHold extends HoldName {
  readonly userId: string;
}

/**
 * Returns the record of a hold with the captures, their refunds and the release that the ledger
 * has; without a record, one by the ledger alone. `all` are the entries of the hold, the expiries
 * that its release has caused, and the refunds of its captures. Undefined when they are not of one
 * hold: there is not one HELD entry, or the record names another one.
 */
export function rebuildHold(
  name: LedgerHold,
  all: readonly LedgerEntry[],
  record: Hold | undefined,
): Hold | undefined {
  const entries = all.filter(({ type }) => type !== "REFUNDED");
  const ofType = (wanted: EntryType) => entries.filter(({ type }) => type === wanted);
  const [held, second] = ofType("HELD");
  if (!held || second) return undefined;
  const { release: _, ...known } = record ?? recordOf(name, held);
  if (known.userId !== name.userId || known.entryNumber !== held.number) return undefined;
  const [released] = ofType("RELEASED");
  const captured = ofType("CAPTURED");
  // A capture that has released the rest, in one change.
  const ending = released && captured.find((entry) => isOneChange(entry, released));
  const last = entries.at(-1) as LedgerEntry;
  let left = held.points;
  const captures = captured.map((entry): Capture => {
    left -= entry.points;
    const refundedPoints = refundedOf(entry, all);
    const rebuilt = {
      ...captureOf(name.holdId, entry, left, entry === ending ? last : entry),
      ...(refundedPoints > 0 && { refundedPoints }),
    };
    const same = known.captures.find(({ eventId }) => eventId === rebuilt.eventId);
    return same ? { ...rebuilt, hash: same.hash, time: same.time } : rebuilt;
  });
  return {
    ...known,
    months: held.changes.map(negative),
    state: record?.release && released ? record.state : stateOf(left, released, ending),
    updateTime: last.createTime,
    captures,
    ...(released && {
      release: {
        points: released.points,
        entryNumber: released.number,
        availablePoints: last.availablePoints,
      },
    }),
  };
}

/** The points of a capture that refunds have returned. */
const refundedOf = ({ event }: LedgerEntry, entries: readonly LedgerEntry[]): Points =>
  entries
    .filter(({ type }) => type === "REFUNDED")
    .filter(({ relatedEvent: of }) => of && eventName(of) === eventName(event))
    .reduce((total, { points }) => total + points, 0);

/** A release follows the capture of its change directly, and has its time and its caller. */
const isOneChange = (capture: LedgerEntry, { number, createTime, caller }: LedgerEntry): boolean =>
  number === capture.number + 1 &&
  createTime === capture.createTime &&
  caller.service === capture.caller.service;

function stateOf(
  left: Points,
  released: LedgerEntry | undefined,
  ending: LedgerEntry | undefined,
): HoldState {
  if (ending || left === 0) return "CAPTURED";
  if (!released) return "HELD";
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
  ...{ entryNumber: held.number, availablePoints: held.availablePoints, captures: [] },
});

/**
 * A capture by its entry. `left` are the points that are held after it, `last` is the last entry of
 * its change. A capture of all that is left may have named these points or not, and said that more
 * captures follow or not.
 */
function captureOf(holdId: string, entry: LedgerEntry, left: Points, last: LedgerEntry): Capture {
  const { points, caller, number, createTime, event } = entry;
  const hash = (parameters: { readonly points?: Points; readonly moreFollow: boolean }) =>
    requestHash("capture", caller, { ...parameters, ...annotationsOf(entry) });
  const requests = [true, false].flatMap((moreFollow) => [{ points, moreFollow }, { moreFollow }]);
  const hasReleased = last !== entry;
  return {
    eventId: captureIdOf(holdId, event),
    hash: left === 0 ? oneOf(requests.map(hash)) : hash({ points, moreFollow: !hasReleased }),
    points,
    time: createTime,
    entryNumber: number,
    availablePoints: last.availablePoints,
  };
}
