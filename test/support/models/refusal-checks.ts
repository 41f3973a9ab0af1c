/**
 * Checks refusals against the ledger: a refusal is right only if the account was in a state that
 * explains it at some moment of the call. The entries of the ledger are the order of the states.
 */
import type { DomainError } from "../../../src/platform/words/errors.ts";
import { type EventName, eventName } from "../../../src/points/rules/ledger.ts";
import { sum } from "../../../src/points/rules/month-changes.ts";
import {
  type Attempt,
  allowsPartial,
  capturePointsOf,
  type KnownEntry,
  keyOf,
  keyOfEntry,
  leftOf,
  type Operation,
  type Outcome,
  refundPointsOf,
  reversedBy,
  targetMonthOf,
} from "./workload-operations.ts";

/** The wrong refusals of operations on one account. `ledger` has all its entries in order. */
export function wrongRefusals(
  outcomes: readonly Outcome[],
  ledger: readonly KnownEntry[],
): string[] {
  const boundsOf = boundsFrom(outcomes, ledger);
  return outcomes.flatMap(({ operation, attempts }) =>
    attempts.flatMap((attempt) => {
      const { error } = attempt;
      if (error === undefined || error.retryable) return [];
      const { first, last } = boundsOf(attempt);
      const states = Array.from({ length: last - first + 1 }, (_, i) => ledger.slice(0, first + i));
      if (states.some((entries) => explains(error, operation, entries))) return [];
      const balances = states.map((entries) => entries.at(-1)?.availablePoints ?? 0);
      const refusal = `${operation.id} was refused: ${error.reason}, ${error.message}`;
      return [`${refusal}; balances during the call: ${balances}`];
    }),
  );
}

/** The first and the last number that the latest entry may have had during an attempt. */
type Bounds = { readonly first: number; readonly last: number };

/**
 * An entry that was acknowledged before an attempt started was committed by then. An entry whose
 * event was first sent after the attempt had ended was not, and neither were later entries. Equal
 * times leave the order open, because the clock has ticks.
 */
function boundsFrom(outcomes: readonly Outcome[], ledger: readonly KnownEntry[]) {
  const acknowledged = outcomes.flatMap(({ attempts }) =>
    attempts.flatMap(({ end, answer }) => (answer ? [{ end, number: answer.entry.number }] : [])),
  );
  const firstSent = new Map(
    outcomes.map(({ operation, attempts }) => [
      keyOf(operation),
      Math.min(...attempts.map(({ start }) => start)),
    ]),
  );
  return ({ start, end }: Attempt): Bounds => {
    const before = acknowledged.filter((each) => each.end < start).map(({ number }) => number);
    const later = ledger.findIndex((entry) => (firstSent.get(keyOfEntry(entry)) ?? start) > end);
    return { first: Math.max(0, ...before), last: later < 0 ? ledger.length : later };
  };
}

/** Whether an account with exactly these entries gives the same refusal. */
function explains(
  { reason, metadata }: DomainError,
  operation: Operation,
  entries: readonly KnownEntry[],
): boolean {
  const { points, kind, reverses } = operation;
  // An operation that has its entry is replayed, never refused.
  const key = keyOf(operation);
  if (entries.some((entry) => keyOfEntry(entry) === key)) return false;
  const isOfHold = kind === "capture" || kind === "release";
  const entryOf = (name: EventName) =>
    entries.find(({ event }) => eventName(event) === eventName(name));
  const reversed = entryOf(reversedBy(operation));
  const holdId = isOfHold ? reverses : operation.holdId;
  const isHoldMissing =
    holdId !== undefined && entryOf({ origin: "h", eventId: holdId }) === undefined;
  switch (reason) {
    case "INSUFFICIENT_POINTS": {
      const balance = entries.at(-1)?.availablePoints ?? 0;
      const isTooLittle = balance === 0 || (balance < points && !allowsPartial(operation));
      return isTooLittle && metadata.available_points === String(balance);
    }
    case "LIMIT_EXCEEDED":
      return reversed !== undefined && isTooMuch(operation, metadata, reversed, entries);
    case "LEDGER_ENTRY_NOT_FOUND":
      return !isOfHold && !isHoldMissing && reversed === undefined;
    case "HOLD_NOT_FOUND":
      return isHoldMissing;
    case "WRONG_STATE":
      return isOfHold && reversed !== undefined && leftOf(reversed, entries) === 0;
    default:
      return false;
  }
}

/** Whether more is requested of an entry than is left of it, as the metadata say. */
function isTooMuch(
  operation: Operation,
  metadata: DomainError["metadata"],
  reversed: KnownEntry,
  entries: readonly KnownEntry[],
): boolean {
  const left = leftOf(reversed, entries);
  switch (operation.kind) {
    case "refund":
      if (left > 0 && (refundPointsOf(operation) ?? left) <= left) return false;
      return metadata.refundable_points === String(left);
    case "capture":
      return left < (capturePointsOf(operation) ?? 0) && metadata.capturable_points === `${left}`;
    case "extend": {
      const month = reversed.changes.at(-1)?.month ?? 0;
      const changes = entries.flatMap(({ changes }) => changes);
      const inMonth = sum(changes.filter((change) => change.month === month));
      return month >= targetMonthOf(operation) && Math.min(left, inMonth) > 0;
    }
    default:
      return false;
  }
}
