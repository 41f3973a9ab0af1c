/**
 * Checks refusals against history: one is right only if the account was in a state that explains
 * it at some moment between the call's start and its end. The ledger is the order of the states.
 */
import { expect } from "vitest";
import type { DomainError } from "../../../src/domain/errors.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";
import {
  type Attempt,
  allowsPartial,
  type Operation,
  type Outcome,
  refunded,
} from "./fault-workload.ts";

/** Checks the refusals of operations on one account, whose whole ledger is given in order. */
export function checkRefusals(outcomes: readonly Outcome[], ledger: readonly LedgerEntry[]): void {
  const boundsOf = boundsFrom(outcomes, ledger);
  for (const { operation, attempts } of outcomes) {
    for (const attempt of attempts) {
      const { error } = attempt;
      if (error === undefined || error.retryable) continue;
      const { first, last } = boundsOf(attempt);
      const states = Array.from({ length: last - first + 1 }, (_, i) => ledger.slice(0, first + i));
      const isRight = states.some((entries) => explains(error, operation, entries));
      const balances = states.map((entries) => entries.at(-1)?.balance ?? 0);
      const told = `${operation.id} was refused: ${error.reason}, ${error.message}`;
      expect(isRight, `${told}; balances from its start to its end: ${balances}`).toBe(true);
    }
  }
}

/** The numbers of ledger entries that may have been the latest while an attempt was under way. */
type Bounds = { readonly first: number; readonly last: number };

/**
 * An entry that was acknowledged before an attempt started was committed by then. One whose event
 * was first sent after the attempt had ended was not, and no entry behind it either. Equal times
 * leave the order open, because the clock has steps.
 */
function boundsFrom(outcomes: readonly Outcome[], ledger: readonly LedgerEntry[]) {
  const acknowledged = outcomes.flatMap(({ attempts }) =>
    attempts.flatMap(({ end, answer }) => (answer ? [{ end, number: answer.entry.number }] : [])),
  );
  const firstSent = new Map(
    outcomes.map(({ operation, attempts }) => [
      operation.id,
      Math.min(...attempts.map(({ start }) => start)),
    ]),
  );
  return ({ start, end }: Attempt): Bounds => {
    const before = acknowledged.filter((each) => each.end < start).map(({ number }) => number);
    const later = ledger.findIndex(({ event }) => (firstSent.get(event.eventId) ?? start) > end);
    return { first: Math.max(0, ...before), last: later < 0 ? ledger.length : later };
  };
}

/** Whether an account with exactly these entries would refuse the operation in the same words. */
function explains(
  { reason, metadata }: DomainError,
  operation: Operation,
  entries: readonly LedgerEntry[],
): boolean {
  const { id, points, undoes } = operation;
  const entryOf = (eventId: string) => entries.find(({ event }) => event.eventId === eventId);
  // What is done is answered again, never refused.
  if (entryOf(id) !== undefined) return false;
  const undone = entryOf(undoes);
  switch (reason) {
    case "INSUFFICIENT_POINTS": {
      const balance = entries.at(-1)?.balance ?? 0;
      const isTooLittle = balance === 0 || (balance < points && !allowsPartial(operation));
      return isTooLittle && metadata.balance === String(balance);
    }
    case "LIMIT_EXCEEDED": {
      if (undone === undefined) return false;
      const refunds = entries.filter(({ type, relatedEvent }) => {
        return type === "REFUNDED" && relatedEvent?.eventId === undoes;
      });
      const left = refunds.reduce((sum, entry) => sum - entry.points, undone.points);
      const isTooMuch = left === 0 || (refunded(operation) ?? left) > left;
      return isTooMuch && metadata.refundable === String(left);
    }
    case "LEDGER_ENTRY_NOT_FOUND":
      return undone === undefined;
    default:
      return false;
  }
}
