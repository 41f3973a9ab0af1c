/** Compares one account with its ledger, page by page, and confirms what it finds. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../../domain/account.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Program } from "../../domain/program.ts";
import {
  addEntry,
  type Comparison,
  compare,
  type LedgerSum,
  startSum,
} from "../../domain/rebuild.ts";
import { requireTime } from "../deadlines.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";

/** How many items of a ledger one read brings. */
const pageSize = 500;

/** How long a look that was not confirmed waits before the next one, in ms. */
const pauseMs = 200;

/** How often a ledger is compared with an account that is written all the time. */
const maxLooks = 20;

/** How many holes of a ledger are looked at again. */
const maxGaps = 50;

/** How far a ledger was added up, and where its next page starts. */
interface Place {
  readonly sum: LedgerSum;
  readonly cursor?: string;
}

/** How far the verification of an account has come. Plain JSON of bounded size. */
export interface AccountProgress {
  /** The version of the account that this look compares with the ledger; 0: not there. */
  readonly version: number;
  /** Counts from 1. */
  readonly look: number;
  readonly place: Place;
  /** The last place up to which the ledger has no fault: the next look starts there. */
  readonly sound: Place;
}

/** What a verification found. */
export interface VerifiedAccount extends Comparison {
  /** The account that the ledger was compared with, and its version. */
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
  deadline: number | undefined,
): Promise<VerifiedAccount> {
  const program = await deps.programs.get(programId);
  const steps = verificationSteps(deps, program, userId, { deadline });
  for (;;) {
    const { done, value } = await steps.next();
    if (done) return value;
    requireTime(deadline);
  }
}

/**
 * Verifies an account one page at a time; the progress that each step yields is where another call
 * can go on.
 *
 * Plain reads may see one part of a transaction and not yet the other (decision 13), so one look at
 * an account and its ledger proves nothing: a difference is reported only if `isConfirmed` says so.
 * Entries never change, so a ledger without faults is not read again when the account moves on: the
 * sum grows with it.
 */
export async function* verificationSteps(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  program: Program,
  userId: string,
  { from, deadline }: { readonly from?: AccountProgress; readonly deadline?: number | undefined },
): AsyncGenerator<AccountProgress, VerifiedAccount> {
  const name = { programId: program.programId, userId };
  const ref = accountRef(program.programId, userId);
  let progress = from;
  for (;;) {
    const { value: account, version } = (await deps.reader.get(ref)) ?? nothing;
    const start = startLook(progress, version);
    const { place, sound, look } = yield* addLedger(deps, name, account, start);
    const { sum } = place;
    const { calendar } = await deps.clock.now();
    const found = compare(account, sum, program, userId, calendar);
    const verified = { ...found, account, version, sum };
    if (found.differenceCount === 0) return verified;
    if (await isConfirmed(deps, name, verified, deadline)) return verified;
    if (look === maxLooks) {
      throw new DomainError("CONTENDED", "the account is written all the time; try again");
    }
    await sleep(pauseMs);
    progress = { version, look: look + 1, place: sound, sound };
    yield progress;
  }
}

const nothing = { value: undefined, version: 0 };

/**
 * The second look: whether the account still has the version that was compared, and nothing has
 * appeared that was missing. The engine reads all of it at one moment at which no transaction holds
 * it. The first entry of a transaction begins an item, so whatever a transaction has not yet
 * applied to the ledger begins with a number that is read here.
 */
function isConfirmed(
  deps: Pick<Deps, "engine">,
  { programId, userId }: AccountName,
  { version, sum }: VerifiedAccount,
  deadline: number | undefined,
): Promise<boolean> {
  const ref = accountRef(programId, userId);
  const starts = [sum.last + 1, ...sum.missing.slice(0, maxGaps).map(({ from }) => from)];
  const gaps = starts.map((number) => entryRef(programId, userId, number));
  return deps.engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref, ...gaps],
    deadline,
    decide: (tx) =>
      tx.recordVersion(ref) === version && gaps.filter((gap) => tx.get(gap)).length === 0,
  });
}

/** The state that a look starts from, or goes on from when it was interrupted. */
function startLook(progress: AccountProgress | undefined, version: number): AccountProgress {
  const start = { sum: startSum() };
  if (!progress) return { version, look: 1, place: start, sound: start };
  if (progress.version === version) return progress;
  return { ...progress, version, place: progress.sound };
}

/**
 * Adds up the ledger as far as the account has come: what is written meanwhile does not count.
 * Entries behind an account that has not moved are its own, and are added, too.
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
    const { cursor } = progress.place;
    const page = await deps.reader.storedEntries(name, { size: pageSize, cursor });
    if (page.items.some(({ number }) => number > last)) {
      const stored = await deps.reader.get(accountRef(name.programId, name.userId));
      if ((stored?.version ?? 0) === progress.version) last = Number.POSITIVE_INFINITY;
    }
    const entries = page.items.filter(({ number }) => !(number > last));
    const sum = structuredClone(progress.place.sum);
    for (const entry of entries) addEntry(sum, entry);
    const isLast = page.cursor === undefined || entries.length < page.items.length;
    if (isLast) return { ...progress, place: { sum } };
    const place = { sum, ...(page.cursor !== undefined && { cursor: page.cursor }) };
    progress = { ...progress, place, ...(sum.faultCount === 0 && { sound: place }) };
    yield progress;
  }
}
