import { balanceOf } from "../../domain/account.ts";
import { DomainError } from "../../domain/errors.ts";
import { type EventKey, type EventRef, eventName, type LedgerEntry } from "../../domain/ledger.ts";
import type { Change, Event, State } from "../../domain/points.ts";
import type { Deps } from "../ports/deps.ts";
import type { Transaction } from "../ports/engine.ts";
import { accountRef, entryRef, eventRef, type Ref } from "../ports/records.ts";

/** What changes of an account depend on. */
export type ChangeDeps = Pick<Deps, "engine" | "programs">;

/** The input of every change of an account. */
export interface ChangeInput {
  readonly programId: string;
  readonly userId: string;
  /** Chosen by the caller, unique in the account for good. */
  readonly eventId: string;
  readonly reason: string;
  readonly caller: string;
  readonly deadline: number | undefined;
}

/** What every change of an account answers. */
export interface ChangeResult {
  readonly entry: LedgerEntry;
  readonly balance: number;
  /** True when the event had been done before; the rest is then its first result. */
  readonly replayed: boolean;
}

/** A change as the use cases of points ask for it. */
interface AccountChange {
  readonly input: ChangeInput;
  readonly hash: string;
  /** The event that a refund or revoke undoes. */
  readonly undoes?: EventRef;
  decide(state: State, event: Event, undone: EventKey | undefined): Change;
}

/** Changes an account once for each event id: account, ledger and event key in one transaction. */
export async function changeAccount(deps: ChangeDeps, asked: AccountChange): Promise<ChangeResult> {
  const { input, hash, undoes } = asked;
  const { programId, userId, deadline } = input;
  const program = await deps.programs.get(programId);
  const event: EventRef = { origin: "c", eventId: input.eventId };
  const account = accountRef(programId, userId);
  const key = eventRef(programId, userId, eventName(event));
  const undone = undoes && eventRef(programId, userId, eventName(undoes));

  return deps.engine.transact({
    key: account,
    readSet: undone ? [account, undone] : [account],
    expectAbsent: [key],
    deadline,
    decide(tx, now): ChangeResult {
      const done = tx.get(key);
      if (done) return replayedResult(done, hash);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      const before = undone && tx.get(undone);
      const { reason, caller } = input;
      const change = asked.decide(state, { event, reason, caller }, before);
      if (undone && before) {
        tx.put(undone, { ...before, reversedPoints: before.reversedPoints + change.entry.points });
      }
      return putChange(tx, key, hash, change);
    },
  });
}

/** Puts everything that makes a change: the account, its entries and the event key. */
export function putChange(
  tx: Transaction,
  key: Ref<"event">,
  hash: string,
  { account, entries, entry }: Change,
): ChangeResult {
  const { programId, userId } = account;
  const balance = balanceOf(account);
  tx.put(accountRef(programId, userId), account);
  for (const each of entries) tx.put(entryRef(programId, userId, each.number), each);
  tx.put(key, { hash, entry, balance, reversedPoints: 0 });
  return { entry, balance, replayed: false };
}

/** The first result of an event, or ID_REUSED when it was another request. */
export function replayedResult(done: EventKey, hash: string): ChangeResult {
  if (done.hash !== hash) {
    throw new DomainError("ID_REUSED", "this event_id was used for another request", {
      number: String(done.entry.number),
    });
  }
  return { entry: done.entry, balance: done.balance, replayed: true };
}
