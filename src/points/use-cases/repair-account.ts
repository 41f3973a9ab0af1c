/** Repairs an account from its ledger, if the ledger has no faults. */

import type { CallLimits } from "../../platform/ports/call.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef } from "../ports/records.ts";
import { isContradictory, rebuildFromLedger, wrongSnapshots } from "../rules/rebuild.ts";
import { type PutRepairAct, repairAct, writeRepairAct } from "./repair-act.ts";
import { ledgerDamaged, missingRanges, restoreEntries } from "./restore-entries.ts";
import { type VerifiedAccount, verifyOneAccount } from "./verify-account.ts";

/** The number of attempts; another one follows when the account was written meanwhile. */
const maxAttempts = 10;

/** The verification before a repair, and what the repair changed. */
export interface RepairedAccount extends VerifiedAccount {
  /** True when the account was rebuilt from its ledger, or wrong snapshots were removed. */
  readonly repaired: boolean;
  /** The numbers of the missing entries that were restored, in their order. */
  readonly restoredEntryNumbers: readonly number[];
}

/** The dependencies of a repair. */
export type RepairDeps = Pick<Deps, "engine" | "reader" | "clock" | "programs" | "removeSnapshot">;

/**
 * Verifies an account and repairs it. First restores missing ledger entries from the copies on
 * their event keys, then removes wrong snapshots, then rebuilds the account from the ledger,
 * conditioned on the version that was verified. The first of these parts writes the act of an
 * audited call. The result contains the differences as found
 * before.
 *
 * Throws LEDGER_DAMAGED, with nothing changed, when the ledger has faults that no copy repairs: the
 * account may be right, so it must not be set from such a ledger. Throws PROGRAM_NOT_FOUND,
 * DEADLINE and CONTENDED.
 */
export async function repairAccount(
  deps: RepairDeps,
  name: AccountName,
  call: CallLimits | undefined,
): Promise<RepairedAccount> {
  return repairVerified(deps, name, await verifyOneAccount(deps, name, call), call);
}

/** Repairs an account that was verified, as `repairAccount` does. */
export async function repairVerified(
  deps: RepairDeps,
  name: AccountName,
  first: VerifiedAccount,
  call: CallLimits | undefined,
): Promise<RepairedAccount> {
  const restored: number[] = [];
  let repaired = false;
  let found = first;
  let putAct = repairAct(name, first, call);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (found.differenceCount === 0) {
      return { ...first, repaired, restoredEntryNumbers: restored };
    }
    if (isContradictory(found.sum) || missingRanges(found).length > 0) {
      const numbers = await restoreEntries(deps, name, found, call, putAct);
      if (numbers.length > 0) putAct = () => undefined;
      restored.push(...numbers);
    } else if (found.sum.faultCount > 0) {
      if (call?.audit) await writeRepairAct(deps, name, call, putAct);
      putAct = () => undefined;
      for (const number of wrongSnapshots(found.sum)) await deps.removeSnapshot(name, number);
      repaired = true;
    } else if (await putRebuilt(deps, name, found, call, putAct)) {
      return { ...first, repaired: true, restoredEntryNumbers: restored };
    }
    found = await verifyOneAccount(deps, name, call);
  }
  throw new DomainError("CONTENDED", "the account is written all the time; try again");
}

/** Rebuilds the account. Returns false when it has been written since it was verified. */
async function putRebuilt(
  deps: Pick<Deps, "engine" | "programs">,
  name: AccountName,
  found: VerifiedAccount,
  call: CallLimits | undefined,
  putAct: PutRepairAct,
): Promise<boolean> {
  await deps.programs.get(name.programId);
  const ref = accountRef(name.programId, name.userId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call,
    decide(tx, { wall }) {
      if (tx.recordVersion(ref) !== found.version) return false;
      const program = deps.programs.current(name.programId);
      const rebuilt = rebuildFromLedger(found.sum, program, name.userId);
      if (!rebuilt) throw ledgerDamaged(found);
      tx.put(ref, rebuilt);
      putAct(tx, wall);
      return true;
    },
  });
}
