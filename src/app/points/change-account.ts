import { balanceOf } from "../../domain/account.ts";
import { DomainError } from "../../domain/errors.ts";
import { type EventKey, type EventRef, eventName, type LedgerEntry } from "../../domain/ledger.ts";
import type { Change, Event, Scene } from "../../domain/points.ts";
import { accountRef, type Deps, entryRef, eventRef, type Ref, type View } from "../ports/deps.ts";

/** What every change of an account is asked with. */
export interface ChangeInput {
  readonly program: string;
  readonly user: string;
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
interface Asked {
  readonly input: ChangeInput;
  readonly hash: string;
  /** The event that a refund or revoke undoes. */
  readonly undoes?: EventRef;
  decide(scene: Scene, event: Event, undone: EventKey | undefined): Change;
}

/** Changes an account once for each event id: account, ledger and event key in one transaction. */
export async function changeAccount(deps: Deps, asked: Asked): Promise<ChangeResult> {
  const { input, hash, undoes } = asked;
  const { program: programId, user, deadline } = input;
  const program = await deps.programs.get(programId);
  const event: EventRef = { origin: "c", id: input.eventId };
  const account = accountRef(programId, user);
  const key = eventRef(programId, user, eventName(event));
  const undone = undoes && eventRef(programId, user, eventName(undoes));

  return deps.engine.run({
    key: account,
    reads: undone ? [account, undone] : [account],
    absent: [key],
    deadline,
    decide(view, now): ChangeResult {
      const done = view.get(key);
      if (done) return replay(done, hash);
      const scene = { program, user, account: view.get(account), now: now.calendar };
      const before = undone && view.get(undone);
      const { reason, caller } = input;
      const change = asked.decide(scene, { event, reason, caller }, before);
      if (undone && before) {
        view.put(undone, { ...before, undone: before.undone + change.entry.points });
      }
      return putChange(view, key, hash, change);
    },
  });
}

/** Puts everything that makes a change: the account, its entries and the event key. */
export function putChange(
  view: View,
  key: Ref<"event">,
  hash: string,
  { account, entries, entry }: Change,
): ChangeResult {
  const { program, user } = account;
  const balance = balanceOf(account);
  view.put(accountRef(program, user), account);
  for (const each of entries) view.put(entryRef(program, user, each.number), each);
  view.put(key, { hash, entry, balance, undone: 0 });
  return { entry, balance, replayed: false };
}

/** The first result of an event, or ID_REUSED when it was another request. */
export function replay(done: EventKey, hash: string): ChangeResult {
  if (done.hash !== hash) {
    throw new DomainError("ID_REUSED", "this event_id was used for another request", {
      number: String(done.entry.number),
    });
  }
  return { entry: done.entry, balance: done.balance, replayed: true };
}
