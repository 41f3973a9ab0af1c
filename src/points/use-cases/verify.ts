/** The use case that compares an account with its ledger. */

import type { CallLimits } from "../../platform/ports/call.ts";
import type { AccountName } from "../ports/points.ts";
import type { Difference } from "../rules/rebuild.ts";
import { type RepairDeps, repairAccount } from "./repair-account.ts";
import { verifyOneAccount } from "./verify-account.ts";

/** The result of a verification, and of its repair if one was requested. */
export interface Verified {
  /** The first 100 differences, as found before the repair. */
  readonly differences: readonly Difference[];
  /** The number of further differences. */
  readonly unreportedDifferenceCount: number;
  /** The number of ledger entries that were read. */
  readonly entryCount: number;
  /** True when the account was rebuilt from its ledger, or wrong snapshots were removed. */
  readonly repaired: boolean;
  /** The numbers of the ledger entries that were restored from the copies on their event keys. */
  readonly restoredEntryNumbers: readonly number[];
}

/**
 * Compares an account with its ledger; with `repair` also repairs it (see `repairAccount`).
 * Refusals: PROGRAM_NOT_FOUND, LEDGER_DAMAGED. Retryable: DEADLINE, CONTENDED.
 */
export async function verifyAccount(
  deps: RepairDeps,
  name: AccountName,
  repair: boolean,
  call?: CallLimits,
): Promise<Verified> {
  const found = repair
    ? await repairAccount(deps, name, call)
    : {
        ...(await verifyOneAccount(deps, name, call)),
        repaired: false,
        restoredEntryNumbers: [],
      };
  const { differences, differenceCount, sum, repaired, restoredEntryNumbers } = found;
  return {
    differences,
    unreportedDifferenceCount: differenceCount - differences.length,
    entryCount: sum.entryCount,
    repaired,
    restoredEntryNumbers,
  };
}
