/** The use cases that compare accounts with their ledgers. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Deps, Verification } from "../ports/deps.ts";
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
  deadline?: number,
): Promise<Verified> {
  const found = repair
    ? await repairAccount(deps, name, deadline)
    : {
        ...(await verifyOneAccount(deps, name, deadline)),
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

/**
 * Starts the verification of a program unless one is running; with `repair` it repairs the accounts
 * that differ. Refusals: PROGRAM_NOT_FOUND, and WRONG_STATE for a repair while a run without it is
 * in progress.
 */
export async function verifyProgram(
  deps: Pick<Deps, "programs" | "workflows">,
  programId: string,
  repair: boolean,
): Promise<Verification> {
  await deps.programs.get(programId);
  await deps.workflows.startVerification(programId, repair);
  const verification = await getProgramVerification(deps, programId);
  if (repair && !verification.repair) {
    const message = "a verification that repairs nothing is in progress; try again after its end";
    throw new DomainError("WRONG_STATE", message, { state: verification.state });
  }
  return verification;
}

/**
 * Returns the progress of the latest verification of a program. Refusals: PROGRAM_NOT_FOUND,
 * VERIFICATION_NOT_FOUND.
 */
export async function getProgramVerification(
  deps: Pick<Deps, "programs" | "workflows">,
  programId: string,
): Promise<Verification> {
  await deps.programs.get(programId);
  const found = await deps.workflows.verification(programId);
  if (!found) {
    throw new DomainError("VERIFICATION_NOT_FOUND", "this program was not verified lately");
  }
  return found;
}
