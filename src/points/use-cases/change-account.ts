/** Changes an account once for each event id, in one transaction. */

import type { Transaction } from "../../platform/ports/engine.ts";
import type { Records, Ref } from "../../platform/ports/records.ts";
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Points } from "../../platform/words/units.ts";
import { isSameRequest, requestHash } from "../../platform/work/idempotency.ts";
import type { Deps } from "../ports/deps.ts";
import { accountRef, entryRef, eventRef } from "../ports/records.ts";
import { availablePointsOf } from "../rules/account.ts";
import { type EventKey, type EventName, eventName, type LedgerEntry } from "../rules/ledger.ts";
import { withSnapshot } from "../rules/past.ts";
import type { Change, Event, State } from "../rules/points.ts";

/** The dependencies of every change of an account. */
export type ChangeDeps = Pick<Deps, "engine" | "programs">;

/** The input of every change of an account. */
export interface ChangeInput {
  readonly programId: string;
  readonly userId: string;
  /** Chosen by the caller, unique in the account for good. */
  readonly eventId: string;
  readonly reason: string;
  /** What led to the change, such as the id of an order. Absent when none was given. */
  readonly cause?: string;
  readonly caller: Caller;
  /** Returns the result that the change would have, and writes nothing. */
  readonly validateOnly?: boolean;
  readonly deadline: number | undefined;
}

/** The result of every change of an account. */
export interface ChangeResult {
  readonly entry: LedgerEntry;
  readonly availablePoints: number;
  /** True when an earlier call made the change; entry and points are then its result. */
  readonly replayed: boolean;
}

/** A change: what its request hash covers besides the input, and its decision. */
interface AccountChange<K extends "event" | "hold"> {
  readonly input: ChangeInput;
  readonly operation: string;
  readonly parameters: Parameters<typeof requestHash>[2];
  /** Of what a refund or revoke reverses, or whose points an extension moves. */
  readonly reversed?: Reversed<K>;
  decide(state: State, event: Event, reversed: Records[K] | undefined): Change;
}

/** A record that counts which of its points later changes have taken from it. */
interface Reversed<K extends "event" | "hold"> {
  readonly ref: Ref<K>;
  readonly count: (record: Records[K], points: Points) => Records[K];
}

/** The key of an event that is reversed, or whose points are moved. */
export const reversedEvent = (
  { programId, userId }: ChangeInput,
  event: EventName,
): Reversed<"event"> => ({
  ref: eventRef(programId, userId, eventName(event)),
  count: (key, points) => ({ ...key, reversedPoints: key.reversedPoints + points }),
});

/**
 * Changes an account once for each event id: account, ledger entries and event keys are written by
 * one transaction. Refusals: PROGRAM_NOT_FOUND, ID_REUSED, and those of `decide`.
 *
 * With `validateOnly` the decision writes nothing, so the engine proves it as it proves a refusal.
 * The hash does not cover it: the answer to the id of an earlier change is that change, replayed.
 */
export async function changeAccount<K extends "event" | "hold" = "event">(
  deps: ChangeDeps,
  { input, operation, parameters, reversed, decide }: AccountChange<K>,
): Promise<ChangeResult> {
  const { programId, userId, eventId, reason, cause, caller, validateOnly, deadline } = input;
  // Event ids are unique in an account, so the ids of program and user need no place in the hash.
  const hash = requestHash(operation, caller, { ...parameters, reason, cause });
  await deps.programs.get(programId);
  const event: EventName = { origin: "c", eventId };
  const account = accountRef(programId, userId);
  const eventKey = eventRef(programId, userId, eventName(event));

  return deps.engine.transact({
    key: account,
    readSet: reversed ? [account, reversed.ref] : [account],
    expectAbsent: [eventKey],
    deadline,
    decide(tx, now): ChangeResult {
      const existing = tx.get(eventKey);
      if (existing) return replayedResult(existing, hash);
      const program = deps.programs.current(programId);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const found = reversed && tx.get(reversed.ref);
      const change = decide(state, { event, reason, ...(cause && { cause }), caller }, found);
      if (validateOnly) return resultOf(change);
      if (reversed && found) tx.put(reversed.ref, reversed.count(found, change.entry.points));
      return putChange(tx, eventKey, hash, change);
    },
  });
}

/** Puts all records of a change: the account, its entries and the event key. */
export function putChange(
  tx: Transaction,
  eventKey: Ref<"event">,
  hash: string,
  change: Change,
): ChangeResult {
  const { account, entries, entry } = change;
  const { programId, userId } = account;
  const result = resultOf(change);
  tx.put(accountRef(programId, userId), account);
  const stored = withSnapshot(account, entries);
  for (const each of stored) tx.put(entryRef(programId, userId, each.number), each);
  const { availablePoints } = result;
  tx.put(eventKey, { hash, entry, availablePoints, reversedPoints: 0 });
  return result;
}

const resultOf = ({ account, entry }: Change): ChangeResult => ({
  entry,
  availablePoints: availablePointsOf(account),
  replayed: false,
});

/** Returns the first result of an event. Throws ID_REUSED when its request was another one. */
export function replayedResult(existing: EventKey, hash: string): ChangeResult {
  const { entry, availablePoints } = existing;
  if (!isSameRequest(existing.hash, hash)) {
    throw new DomainError("ID_REUSED", "this event_id was used for another request", {
      number: String(entry.number),
    });
  }
  return { entry, availablePoints, replayed: true };
}
