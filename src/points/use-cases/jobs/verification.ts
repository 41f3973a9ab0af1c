/** The job that compares the accounts of a program with their ledgers, and repairs them. */

import type { Page } from "../../../platform/ports/pages.ts";
import { maxReports } from "../../../platform/words/quantities.ts";
import {
  type VerificationRequest,
  type VerifiedAccounts,
  verificationKind,
} from "../../contract/verifications.ts";
import type { Deps } from "../../ports/deps.ts";
import type { Program } from "../../rules/program.ts";
import { type RepairDeps, repairVerified } from "../repair-account.ts";
import { sweepAccounts } from "../sweep-accounts.ts";
import {
  type AccountProgress,
  type VerifiedAccount,
  verificationSteps,
} from "../verify-account.ts";
import { accountPages } from "./account-pages.ts";
import type { JobType, Segment, Warn } from "./jobs.ts";

/** Each of these has waited for the store several times, one after another. */
const outageAfter = 3;

/** A report names at most this many differences of one account. */
const maxNamed = 20;

/**
 * The repair of one account may take this long. It leaves no progress, so it has to end within the
 * activity that the step is a part of; a longer one needs VerifyAccount with a long deadline.
 */
const maxRepairMs = 120_000;

/** The account that is verified next. */
interface NextAccount {
  readonly program: Program;
  readonly userId: string;
  /** Where its verification continues. */
  readonly progress: AccountProgress | undefined;
  /** The cursor of this account with some progress. */
  cursorAt(progress: AccountProgress): string;
}

/**
 * The verification of a program: compares its accounts with their ledgers, and repairs those that
 * differ if it is asked to. `shouldContinue` is called after every account and every page of a
 * ledger. An account whose repair is refused is counted as failed. The step throws
 * PROGRAM_NOT_FOUND, PROGRAM_STALE, and the error of an outage.
 */
export const verification: JobType<VerifiedAccounts, VerificationRequest> = {
  kind: verificationKind,

  step(deps, { programId, request: { repair } }, segment, start, from, shouldContinue, warn) {
    return sweepAccounts(
      {
        read: accountReader(deps, programId, segment),
        async process(account, checkpoint) {
          const verified = await verifyNext(deps, account, checkpoint);
          if (!verified || !repair || verified.found.differenceCount === 0) return verified;
          const isRepaired = await repairNext(deps, account, verified.found, warn);
          return { ...verified, isRepaired };
        },
        add: addAccount,
        onFailed: (_userId, err) => warn("an account could not be verified", { err }),
        concurrency: 1,
        outageAfter,
      },
      start,
      from,
      shouldContinue,
    );
  },
};

/**
 * Returns a function that reads the account at a cursor, as a page of its own, because a ledger may
 * be longer than a step.
 */
function accountReader(
  deps: Pick<Deps, "reader" | "programs">,
  programId: string,
  segment: Segment,
): (cursor: string | undefined) => Promise<Page<NextAccount>> {
  const accountsAt = accountPages<AccountProgress>(deps, programId, segment);
  return async (cursor) => {
    const program = await deps.programs.get(programId);
    const { accounts, progress, cursorOf } = await accountsAt(cursor);
    const items = accounts.slice(0, 1).map(({ userId }) => ({
      ...{ program, userId, progress },
      cursorAt: (progress: AccountProgress) => cursorOf(0, progress) as string,
    }));
    return { items, cursor: cursorOf(1) };
  };
}

/** Verifies one account. Returns undefined when `checkpoint` returns false. */
async function verifyNext(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  { program, userId, progress: from, cursorAt }: NextAccount,
  checkpoint: (cursor: string) => boolean,
): Promise<VerifiedNext | undefined> {
  const steps = verificationSteps(deps, program, userId, from ? { from } : {});
  for (;;) {
    const { done, value } = await steps.next();
    if (done) return { userId, found: value };
    if (!checkpoint(cursorAt(value))) return undefined;
  }
}

/** Repairs an account that differs. Throws LEDGER_DAMAGED, CONTENDED and DEADLINE. */
async function repairNext(
  deps: RepairDeps,
  { program: { programId }, userId }: NextAccount,
  verified: VerifiedAccount,
  warn: Warn,
): Promise<boolean> {
  const name = { programId, userId };
  const call = { deadline: performance.now() + maxRepairMs };
  const found = await repairVerified(deps, name, verified, call);
  const { differences, restoredEntryNumbers, repaired } = found;
  const isRepaired = repaired || restoredEntryNumbers.length > 0;
  if (isRepaired) warn("an account was repaired", { differences, restoredEntryNumbers });
  return isRepaired;
}

/** An account that was verified, and repaired if that was requested. */
interface VerifiedNext {
  readonly userId: string;
  readonly found: VerifiedAccount;
  readonly isRepaired?: boolean | undefined;
}

function addAccount(tally: VerifiedAccounts, verified: VerifiedNext | undefined): VerifiedAccounts {
  if (!verified) return tally;
  const { userId, found, isRepaired } = verified;
  const accounts = tally.accounts + 1;
  const entries = tally.entries + found.sum.entryCount;
  if (found.differenceCount === 0) return { ...tally, accounts, entries };
  const differences = found.differences.slice(0, maxNamed);
  const unreported = found.differenceCount - differences.length;
  const report = { userId, differences, unreported };
  const reports = [...tally.reports, report].slice(0, maxReports);
  const repaired = tally.repaired + (isRepaired ? 1 : 0);
  return { ...tally, accounts, entries, wrong: tally.wrong + 1, repaired, reports };
}
