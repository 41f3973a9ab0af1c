/** Changes a hold and its account in one transaction. */

import type { HoldName } from "../../due/ports/due.ts";
import type { Call, CallLimits } from "../../platform/ports/call.ts";
import type { Now } from "../../platform/ports/clock.ts";
import type { Transaction } from "../../platform/ports/engine.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { accountRef } from "../../points/ports/records.ts";
import type { State } from "../../points/rules/points.ts";
import { putEntries } from "../../points/use-cases/commands.ts";
import type { Deps } from "../ports/deps.ts";
import { holdRef } from "../ports/records.ts";
import type { Hold, HoldChange } from "../rules/hold.ts";

/** A hold that a call names, with the user of its account. */
export interface HoldCall extends HoldName, CallLimits {
  readonly userId: string;
}

/** The caller that captures, releases or refunds, and its limit. */
export interface HoldChanger extends Call {
  /** Whether the caller may do so only with holds that its own service has made. */
  readonly ownHoldsOnly?: boolean | undefined;
}

/** Throws PERMISSION_DENIED for a hold of another service when the caller is limited to its own. */
export function requireMayChange({ creator }: Hold, { caller, ownHoldsOnly }: HoldChanger): void {
  if (!ownHoldsOnly || creator.service === caller.service) return;
  throw new DomainError(
    "PERMISSION_DENIED",
    "the caller may change only holds of its own service",
    {
      field: "hold_id",
    },
  );
}

/** A change of a hold that is being decided. */
export interface FoundHold {
  readonly hold: Hold;
  readonly account: State;
  readonly now: Now;
  readonly tx: Transaction;
}

/**
 * Decides about a hold and its account, which `decide` puts with `putHold` if it changes them.
 * Refusals: PROGRAM_NOT_FOUND, HOLD_NOT_FOUND, also for a hold of another user, and those of
 * `decide`.
 */
export async function changeHold<R>(
  { engine, programs }: Pick<Deps, "engine" | "programs">,
  call: HoldCall,
  decide: (found: FoundHold) => R,
  expectAbsent: readonly Ref[] = [],
): Promise<R> {
  const { programId, userId } = call;
  await programs.get(programId);
  const account = accountRef(programId, userId);
  const ref = holdRef(call);
  return engine.transact({
    key: account,
    readSet: [account, ref],
    expectAbsent,
    call,
    decide(tx, now) {
      const hold = tx.get(ref);
      if (hold?.userId !== userId) throw holdNotFound(call.holdId);
      const program = programs.current(programId);
      const state = { program, userId, account: tx.get(account), now: now.calendar };
      return decide({ hold, account: state, now, tx });
    },
  });
}

/** A hold as it is now, and the entry of the event; absent where nothing is changed. */
export type ChangedHold = Pick<HoldChange, "hold"> & Partial<Pick<HoldChange, "entry">>;

/** Puts all records of a change: the account, its entries and the hold. Returns the change. */
export function putHold(tx: Transaction, change: HoldChange): HoldChange {
  const { account, entries, hold } = change;
  const { programId, userId } = account;
  tx.put(accountRef(programId, userId), account);
  putEntries(tx, account, entries);
  tx.put(holdRef(hold), hold);
  return change;
}

/** The refusal HOLD_NOT_FOUND. */
export const holdNotFound = (holdId: string) =>
  new DomainError("HOLD_NOT_FOUND", `there is no hold ${holdId}`);
