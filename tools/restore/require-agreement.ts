/** Whether an account agrees with its ledger, so that it may be changed by what a record says. */
import { DomainError } from "../../src/platform/words/errors.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { verifyOneAccount } from "../../src/points/use-cases/verify-account.ts";
import type { CompareDeps } from "./findings.ts";

/**
 * Requires that an account agrees with its ledger, before its points change by what an event key
 * says or does not say. Throws LEDGER_DAMAGED: an account that differs may have the change without
 * its entry and key, and would get it twice.
 */
export async function requireAgreement(
  deps: CompareDeps,
  { programId, userId }: AccountName,
): Promise<void> {
  const { differenceCount } = await verifyOneAccount(deps, { programId, userId }, undefined);
  if (differenceCount === 0) return;
  const message = "the account differs from its ledger, and may have this change already";
  throw new DomainError("LEDGER_DAMAGED", message);
}
