/** Repairs an account from its ledger, but only from a ledger that is whole. */
import { DomainError } from "../../domain/errors.ts";
import { rebuildFromLedger } from "../../domain/rebuild.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef } from "../ports/records.ts";
import { missingNumbers, refuseDamaged, restoreEntries } from "./restore-entries.ts";
import { type VerifiedAccount, verifyOneAccount } from "./verify-account.ts";

/** How often a repair starts again because the account was written meanwhile. */
const maxTries = 10;

/** What a repair found and did. */
interface RepairedAccount extends VerifiedAccount {
  /** True when the account was set to what the ledger says. */
  readonly repaired: boolean;
  /** The missing entries that were written again, in their order. */
  readonly restoredEntryNumbers: readonly number[];
}

/**
 * Verifies an account. First restores missing ledger entries from the copies on their event keys,
 * then rebuilds the account from the ledger under the version that was read; the differences are
 * those from before. Throws LEDGER_DAMAGED, with nothing changed, when the ledger has faults that
 * no copy heals: an account that may be right must not follow it.
 */
export async function repairAccount(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
  name: AccountName,
  deadline: number | undefined,
): Promise<RepairedAccount> {
  const first = await verifyOneAccount(deps, name, deadline);
  const restored: number[] = [];
  let found = first;
  for (let i = 0; i < maxTries; i++) {
    if (found.differenceCount === 0)
      return { ...first, repaired: false, restoredEntryNumbers: restored };
    if (found.sum.faultCount > 0 || missingNumbers(found).length > 0) {
      restored.push(...(await restoreEntries(deps, name, found, deadline)));
    } else if (await putRebuilt(deps, name, found, deadline)) {
      return { ...first, repaired: true, restoredEntryNumbers: restored };
    }
    found = await verifyOneAccount(deps, name, deadline);
  }
  throw new DomainError("CONTENDED", "the account is written all the time; try again");
}

/** Returns false when the account has been written since it was verified. */
async function putRebuilt(
  deps: Pick<Deps, "engine" | "programs">,
  name: AccountName,
  found: VerifiedAccount,
  deadline: number | undefined,
): Promise<boolean> {
  const program = await deps.programs.get(name.programId);
  const rebuilt = rebuildFromLedger(found.sum, program, name.userId);
  if (!rebuilt) throw refuseDamaged(found);
  const ref = accountRef(name.programId, name.userId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx) {
      if (tx.recordVersion(ref) !== found.version) return false;
      tx.put(ref, rebuilt);
      return true;
    },
  });
}
