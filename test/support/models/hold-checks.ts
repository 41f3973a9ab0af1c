/**
 * Compares the records of holds with the ledgers: a record has exactly the entries of its hold and
 * the state that they lead to, what is over was released, and each account holds what its open
 * holds have.
 */
import { isDeepStrictEqual } from "node:util";
import { type Hold, holdOfEvent, pointsOf } from "../../../src/holds/rules/hold.ts";
import { type KnownEntry, leftOf, type Operation, type Outcome } from "./workload-operations.ts";

/** What is stored when everything that was sent has been done. */
interface HoldsState {
  /** When it was read. */
  readonly time: number;
  /** By user, all entries in order. */
  readonly ledgers: ReadonlyMap<string, readonly KnownEntry[]>;
  readonly holds: ReadonlyMap<string, Hold>;
  /** By user, the points that the account holds. */
  readonly heldPoints: ReadonlyMap<string, number>;
}

/** After its time, a hold is released within a minute, also when something went wrong. */
const graceMs = 60_000;

/** What is wrong with the holds that these operations have made. */
export function wrongHolds(outcomes: readonly Outcome[], state: HoldsState): string[] {
  const made = outcomes.map(({ operation }) => operation).filter(({ kind }) => kind === "hold");
  return [
    ...made.flatMap((operation) => {
      const { id, userId } = operation;
      const stored = state.holds.get(id);
      const ledger = state.ledgers.get(userId) ?? [];
      const entries = ledger.filter(
        ({ event }) => event.origin === "h" && holdOfEvent(event.eventId) === id,
      );
      const wrong = stored ? wrongRecord(operation, stored, entries, state.time) : [];
      const isLost = !stored && entries.length > 0;
      return [...wrong, ...(isLost ? [`has ${textOf(entries)}, and no record`] : [])].map(
        (what) => `hold ${id} of ${userId} ${what}`,
      );
    }),
    ...wrongHeldPoints(state),
  ];
}

function wrongRecord(
  { userId, until }: Operation,
  hold: Hold,
  entries: readonly KnownEntry[],
  now: number,
): string[] {
  const recorded = entriesOf(hold);
  const { CAPTURED: captures = [], others = [] } = Object.groupBy(entries, ({ type }) =>
    type === "CAPTURED" ? type : "others",
  );
  const found = others.map(({ event, number, points }) => ({ of: event.eventId, number, points }));
  const recordedCaptures = capturesText(hold.captureCount, hold.capturedPoints);
  const foundCaptures = capturesText(
    captures.length,
    captures.reduce((sum, { points }) => sum + points, 0),
  );
  const { state } = hold;
  const expected = stateAfter(entries);
  return [
    ...(hold.userId === userId && hold.until === until
      ? []
      : [`is until ${hold.until} for ${hold.userId}, and not until ${until}`]),
    ...(isDeepStrictEqual(recorded, found)
      ? []
      : [`has ${textOf(recorded)} by its record, and ${textOf(found)} by the ledger`]),
    ...(recordedCaptures === foundCaptures
      ? []
      : [`has ${recordedCaptures} by its record, and ${foundCaptures} by the ledger`]),
    ...(state === expected ? [] : [`is ${state} by its record, and ${expected} by the ledger`]),
    ...(state === "HELD" && hold.until + graceMs <= now ? ["is due, and was never released"] : []),
    ...(state === "EXPIRED" && hold.updateTime < hold.until
      ? [`has timed out ${hold.until - hold.updateTime} ms early`]
      : []),
  ];
}

/** The entries that a record names, in their order. */
function entriesOf(hold: Hold) {
  const { holdId: id, entryNumber, release } = hold;
  return [
    { of: id, number: entryNumber, points: pointsOf(hold) },
    ...(release
      ? [{ of: `${id}/release`, number: release.entryNumber, points: release.points }]
      : []),
  ];
}

const capturesText = (count: number, points: number): string =>
  `${count} captures of ${points} points`;

/** The state to which the entries of a hold lead. */
function stateAfter(entries: readonly KnownEntry[]): Hold["state"] {
  const [held] = entries;
  if (held && leftOf(held, entries) > 0) return "HELD";
  const release = entries.find(({ type }) => type === "RELEASED");
  if (!release) return "CAPTURED";
  if (release.reason === "") return "EXPIRED";
  const isRest = entries.some(
    ({ type, reason }) => type === "CAPTURED" && reason === release.reason,
  );
  return isRest ? "CAPTURED" : "RELEASED";
}

/** Accounts that hold other points than their open holds have. */
function wrongHeldPoints({ holds, heldPoints }: HoldsState): string[] {
  const open = [...holds.values()].filter(({ state }) => state === "HELD");
  return [...heldPoints].flatMap(([userId, points]) => {
    const own = open.filter((hold) => hold.userId === userId);
    const left = own.reduce((sum, hold) => sum + pointsOf(hold) - hold.capturedPoints, 0);
    return left === points ? [] : [`${userId} holds ${points} points, and open holds have ${left}`];
  });
}

const textOf = (
  entries: readonly { readonly number: number; readonly points: number }[],
): string =>
  entries.length === 0
    ? "no entries"
    : entries.map(({ number, points }) => `entry ${number} of ${points} points`).join(", ");
