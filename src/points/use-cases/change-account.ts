/** Changes an account once for each event id, in one transaction. */

import type { Call } from "../../platform/ports/call.ts";
import type { Transaction } from "../../platform/ports/engine.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { type Annotations, annotationsOf } from "../../platform/words/annotations.ts";
import { requestHash, requireSameRequest } from "../../platform/work/idempotency.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef, eventRef } from "../ports/records.ts";
import { type Account, availablePointsOf } from "../rules/account.ts";
import { type EventKey, type EventName, eventName, type LedgerEntry } from "../rules/ledger.ts";
import { withSnapshot } from "../rules/past.ts";
import type { Change, Event, State } from "../rules/points.ts";

/** The dependencies of every change of an account. */
export type ChangeDeps = Pick<Deps, "engine" | "programs">;

/** The input of every change of an account. */
export interface ChangeInput extends AccountName, Annotations, Call {
  /** Chosen by the caller, unique in the account for good. */
  readonly eventId: string;
}

/** The result of every change of an account. */
export interface ChangeResult {
  readonly entry: LedgerEntry;
  readonly availablePoints: number;
  /** True when an earlier call made the change; entry and points are then its result. */
  readonly replayed: boolean;
}

/** A change: what its request hash covers besides the input, and its decision. */
interface AccountChange {
  readonly input: ChangeInput;
  readonly operation: string;
  readonly parameters: Parameters<typeof requestHash>[2];
  /** The records that the decision reads besides the account. */
  readonly reads?: readonly Ref[];
  decide(state: State, event: Event, tx: Transaction): Change;
}

/**
 * Changes an account once for each event id: account, ledger entries and event keys are written by
 * one transaction. The hash of a request does not cover `validateOnly`: the answer to the id of an
 * earlier change is that change, replayed. Refusals: PROGRAM_NOT_FOUND, ID_REUSED, and those of
 * `decide`.
 */
export async function changeAccount(
  deps: ChangeDeps,
  { input, operation, parameters, reads = [], decide }: AccountChange,
): Promise<ChangeResult> {
  const { programId, userId, eventId, caller } = input;
  const annotations = annotationsOf(input);
  // Event ids are unique in an account, so the ids of program and user need no place in the hash.
  const hash = requestHash(operation, caller, { ...parameters, ...annotations });
  await deps.programs.get(programId);
  const event: EventName = { origin: "c", eventId };
  const account = accountRef(programId, userId);
  const eventKey = eventRef(programId, userId, eventName(event));
  return deps.engine.transact({
    key: account,
    readSet: [account, ...reads],
    expectAbsent: [eventKey],
    call: input,
    decide(tx, now): ChangeResult {
      const existing = tx.get(eventKey);
      if (existing) return replayedResult(existing, hash);
      const program = deps.programs.current(programId);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const change = decide(state, { event, ...annotations, caller }, tx);
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
  tx.put(accountRef(programId, userId), account);
  putEntries(tx, account, entries);
  const availablePoints = availablePointsOf(account);
  tx.put(eventKey, { hash, entry, availablePoints, reversedPoints: 0 });
  return { entry, availablePoints, replayed: false };
}

/** Puts the entries that have led to an account; one may get a snapshot (`withSnapshot`). */
export function putEntries(
  tx: Transaction,
  account: Account,
  entries: readonly LedgerEntry[],
): void {
  const { programId, userId } = account;
  const stored = withSnapshot(account, entries);
  for (const each of stored) tx.put(entryRef(programId, userId, each.number), each);
}

/** Returns the first result of an event. Throws ID_REUSED when its request was another one. */
export function replayedResult(existing: EventKey, hash: string): ChangeResult {
  const { entry, availablePoints } = existing;
  requireSameRequest(existing.hash, hash, "event_id", { number: String(entry.number) });
  return { entry, availablePoints, replayed: true };
}
