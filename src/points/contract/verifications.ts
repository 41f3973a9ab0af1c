/** The verification of all accounts of a program against their ledgers. */
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import { nounFor, quantity } from "../../platform/words/quantities.ts";
import type { FailedAccount } from "../rules/jobs.ts";
import type { Difference } from "../rules/rebuild.ts";
import type { JobKind } from "./jobs.ts";
import { failedNames } from "./points.ts";

/** The accounts that were compared with their ledgers. */
export interface VerifiedAccounts {
  readonly accounts: number;
  /** The number of ledger entries that were read. */
  readonly entries: number;
  /** The number of accounts that differed from their ledgers before any repair. */
  readonly wrong: number;
  /** The number of accounts that were repaired. */
  readonly repaired: number;
  /** The first 100 accounts that differed. */
  readonly reports: readonly WrongAccount[];
  /** The number of accounts that could not be verified, or not be repaired. */
  readonly failed: number;
  /** The first 100 of them. */
  readonly failures: readonly FailedAccount[];
}

/** An account that differs from its ledger. */
interface WrongAccount {
  readonly userId: string;
  /** The first 20. */
  readonly differences: readonly Difference[];
  /** The number of further differences. */
  readonly unreported: number;
}

/** Asks for a verification. */
export type VerificationRequest = { readonly repair: boolean };

export const verificationKind: JobKind<VerifiedAccounts, VerificationRequest> = {
  name: "verify-program",
  workflowType: workflowTypes.verifyProgram,
  segments: 4,
  nothing: {
    accounts: 0,
    entries: 0,
    wrong: 0,
    repaired: 0,
    reports: [],
    failed: 0,
    failures: [],
  },
  sentence(sum, { repair }) {
    const { accounts, wrong, repaired, failed } = sum;
    const verified = `Verified ${quantity(accounts, "account")}; ${wrong}`;
    const names = failedNames(sum);
    return repair
      ? `${verified} differed, ${repaired} repaired, ` +
          `${failed} could not be verified or repaired${names}.`
      : `${verified} ${nounFor(wrong, "differs", "differ")}, ` +
          `${failed} could not be verified${names}.`;
  },
};
