/** The use cases that compare accounts with their ledgers. */
import { DomainError } from "../../domain/errors.ts";
import type { Difference } from "../../domain/rebuild.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import type { Verification } from "../ports/workflows.ts";
import { repairAccount } from "./repair-account.ts";
import { verifyOneAccount } from "./verify-account.ts";

/** What a verification found, and what a repair did. */
export interface Verified {
  /** From before any repair; the first 100. */
  readonly differences: readonly Difference[];
  /** How many differences there are besides. */
  readonly unreportedDifferenceCount: number;
  /** The ledger entries that were read. */
  readonly entryCount: number;
  /** True when the account was set to what the ledger says. */
  readonly repaired: boolean;
  /** The numbers of the ledger entries that were restored from the copies on their event keys. */
  readonly restoredEntryNumbers: readonly number[];
}

/**
 * Compares an account with its ledger; with `repair` it heals what can be healed. Refusals:
 * PROGRAM_NOT_FOUND, LEDGER_DAMAGED (see `repairAccount`). Retryable: DEADLINE, CONTENDED.
 */
export async function verifyAccount(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
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
  const unreported = differenceCount - differences.length;
  return {
    differences,
    unreportedDifferenceCount: unreported,
    entryCount: sum.entryCount,
    repaired,
    restoredEntryNumbers,
  };
}

/** Starts the verification of a program, or joins the one that runs. */
export async function verifyProgram(
  deps: Pick<Deps, "programs" | "workflows">,
  programId: string,
): Promise<Verification> {
  await deps.programs.get(programId);
  await deps.workflows.startVerification(programId);
  return getProgramVerification(deps, programId);
}

/** How far the latest one has come. Refusals: PROGRAM_NOT_FOUND, VERIFICATION_NOT_FOUND. */
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
