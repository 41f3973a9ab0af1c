/** Compares one account with its ledger, page by page, and confirms the differences. */

import { setTimeout as sleep } from "node:timers/promises";
import { type CallLimits, requireTime } from "../../platform/ports/call.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import type { Account } from "../rules/account.ts";
import type { Program } from "../rules/program.ts";
import { addEntry, type Comparison, compare, type LedgerSum, startSum } from "../rules/rebuild.ts";

/** The number of items of one read of a ledger. */
const pageSize = 500;

/** The pause after a comparison whose differences were not confirmed. */
const pauseMs = 200;

/** The number of comparisons with an account that is written all the time. */
const maxComparisons = 20;

/** At most this many ranges of missing entries are read again. */
const maxConfirmedRanges = 50;

/** The sum of a ledger so far, and the cursor of its next page. */
interface LedgerPosition {
  readonly sum: LedgerSum;
  readonly cursor?: string | undefined;
}

/**
 * The progress of the verification of an account. It is plain JSON of bounded size. Heartbeats
 * contain it, so its property names do not change.
 */
export interface AccountProgress {
  /** The version of the account that is compared with the ledger; 0 when it does not exist. */
  readonly version: number;
  /** The number of this comparison, from 1. */
  readonly comparison: number;
  readonly position: LedgerPosition;
  /** The last position up to which the ledger has no fault. The next comparison starts there. */
  readonly sound: LedgerPosition;
}

/** The result of the verification of an account. */
export interface VerifiedAccount extends Comparison {
  /** The account that was compared with the ledger, and its version. */
  readonly account: Account | undefined;
  readonly version: number;
  readonly sum: LedgerSum;
}

/**
 * Verifies an account within the caller's deadline. Throws PROGRAM_NOT_FOUND, DEADLINE, and
 * CONTENDED when the account is written all the time and seems to differ.
 */
export async function verifyOneAccount(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
  { programId, userId }: AccountName,
  call: CallLimits | undefined,
): Promise<VerifiedAccount> {
  const program = await deps.programs.get(programId);
  const steps = verificationSteps(deps, program, userId, { call });
  for (;;) {
    const { done, value } = await steps.next();
    if (done) return value;
    requireTime(call);
  }
}

/**
 * Verifies an account one page at a time. Each step yields the progress from which another call can
 * continue. Throws CONTENDED after 20 comparisons whose differences were not confirmed.
 *
 * Plain reads may return one part of a transaction without the other (docs/decisions/0013), so the
 * differences of a comparison are reported only after `isConfirmed` has validated them. Entries
 * never change, so a ledger without faults is not read again when the account changes: only its new
 * entries are added to the sum.
 */
export async function* verificationSteps(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  program: Program,
  userId: string,
  { from, call }: { readonly from?: AccountProgress; readonly call?: CallLimits | undefined },
): AsyncGenerator<AccountProgress, VerifiedAccount> {
  const name = { programId: program.programId, userId };
  const ref = accountRef(program.programId, userId);
  let progress = from;
  for (;;) {
    const { value: account, version } = (await deps.reader.get(ref)) ?? nonexistent;
    const start = startComparison(progress, version);
    const { position, sound, comparison } = yield* addLedger(deps, name, account, start);
    const { sum } = position;
    const { calendar } = await deps.clock.now();
    const found = compare(account, sum, program, userId, calendar);
    const verified = { ...found, account, version, sum };
    if (found.differenceCount === 0) return verified;
    if (await isConfirmed(deps, name, verified, call)) return verified;
    if (comparison === maxComparisons) {
      throw new DomainError("CONTENDED", "the account is written all the time; try again");
    }
    await sleep(pauseMs);
    progress = { version, comparison: comparison + 1, position: sound, sound };
    yield progress;
  }
}

const nonexistent = { value: undefined, version: 0 };

/**
 * Validates a comparison: the account still has the version that was compared, and the missing
 * entries still do not exist. The engine reads all of them at one moment at which no transaction
 * holds them. The first entry of a transaction begins an item, so the first entry that a running
 * transaction has not applied yet is among those that are read.
 */
function isConfirmed(
  deps: Pick<Deps, "engine">,
  { programId, userId }: AccountName,
  { version, sum }: VerifiedAccount,
  call: CallLimits | undefined,
): Promise<boolean> {
  const ref = accountRef(programId, userId);
  const ranges = sum.missing.slice(0, maxConfirmedRanges);
  const numbers = [sum.last + 1, ...ranges.map(({ from }) => from)];
  const entries = numbers.map((number) => entryRef(programId, userId, number));
  return deps.engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref, ...entries],
    call,
    decide: (tx) =>
      tx.recordVersion(ref) === version && entries.filter((entry) => tx.get(entry)).length === 0,
  });
}

/** Returns the progress from which a comparison starts, or continues after an interruption. */
function startComparison(progress: AccountProgress | undefined, version: number): AccountProgress {
  const start = { sum: startSum() };
  if (!progress) return { version, comparison: 1, position: start, sound: start };
  if (progress.version === version) return progress;
  return { ...progress, version, position: progress.sound };
}

/**
 * Adds up the ledger up to the last entry of the account, because later entries may have been
 * written meanwhile. If the account still has its version, they were not, and are added, too.
 */
async function* addLedger(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  account: Account | undefined,
  start: AccountProgress,
): AsyncGenerator<AccountProgress, AccountProgress> {
  let progress = start;
  let last = account?.last ?? 0;
  for (;;) {
    const { cursor } = progress.position;
    const page = await deps.reader.storedEntries(name, { size: pageSize, cursor });
    if (page.items.some(({ number }) => number > last)) {
      const stored = await deps.reader.get(accountRef(name.programId, name.userId));
      if ((stored?.version ?? 0) === progress.version) last = Number.POSITIVE_INFINITY;
    }
    const entries = page.items.filter(({ number }) => !(number > last));
    const sum = structuredClone(progress.position.sum);
    for (const entry of entries) addEntry(sum, entry);
    const isLast = page.cursor === undefined || entries.length < page.items.length;
    if (isLast) return { ...progress, position: { sum } };
    const position = { sum, cursor: page.cursor };
    progress = { ...progress, position, ...(sum.faultCount === 0 && { sound: position }) };
    yield progress;
  }
}
