/** The use case of the month-end sweep: expires what is due in the accounts of one shard. */
import pLimit from "p-limit";
import { type Month, monthAt } from "../../platform/words/month.ts";
import { failingSoon } from "../../platform/work/failing-soon.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef } from "../ports/records.ts";
import { expiredMonth } from "../rules/account.ts";
import { expireForMonthEnd } from "../rules/points.ts";
import { putEntries } from "./commands.ts";
import {
  type AccountsCursor,
  type DueAccountsCounts,
  type DueAccountsShard,
  sweepDueAccounts,
} from "./sweep-accounts.ts";

/** As many as a partition of the index takes: 500 changes a second, each of about 15 ms. */
const concurrency = 8;

/** This process expires 64 accounts at a time, however many shards and programs it sweeps. */
const inTurn = pLimit(64);

/** The counts of accounts in which points have expired or nothing was due. */
type ExpiredCounts = DueAccountsCounts<"expired" | "unchanged">;

/** The progress within a shard, from which another call can continue. */
export type ExpireProgress = ExpiredCounts & AccountsCursor;

/** The months of a month end. */
interface Months {
  /** The month that has ended. */
  readonly ended: Month;
  /** The latest month whose granted points have expired with it. */
  readonly grantedUpTo: Month;
}

/**
 * Expires what is due in the accounts of one shard, from the cursor on, until `shouldContinue`
 * returns false. The input may contain the progress so far, which is added to. A page may be
 * processed again: expiring twice changes nothing. An account that fails is counted and named, and
 * the work continues with the next one. Throws PROGRAM_NOT_FOUND, PROGRAM_STALE, and the error of
 * an outage.
 */
export async function expireDueInShard(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs" | "paceSweep">,
  input: DueAccountsShard & Partial<ExpireProgress>,
  shouldContinue: (progress: ExpireProgress) => boolean,
  onFailed: (userId: string, error: unknown) => void = () => {},
): Promise<ExpireProgress> {
  const { programId, shard, expired = 0, unchanged = 0, failed = 0, failures = [] } = input;
  const program = await deps.programs.get(programId);
  const { calendar } = await deps.clock.now();
  const month = expiredMonth(program, calendar);
  const brief = failingSoon(deps);
  const process = (account: AccountName) =>
    inTurn(async () => {
      await deps.paceSweep(`month-end/${programId}`);
      return expireDueInAccount(brief, account);
    });
  return sweepDueAccounts(
    deps,
    { programId, shard, month, concurrency, process, onFailed },
    { expired, unchanged, failed, failures },
    input,
    shouldContinue,
  );
}

/** Returns the months of a month end that runs now. Throws PROGRAM_NOT_FOUND, PROGRAM_STALE. */
export async function readMonths(
  deps: Pick<Deps, "clock" | "programs">,
  programId: string,
): Promise<Months> {
  const program = await deps.programs.get(programId);
  const { calendar } = await deps.clock.now();
  return {
    ended: monthAt(program.timeZone, calendar) - 1,
    grantedUpTo: expiredMonth(program, calendar),
  };
}

/**
 * Returns which of the counts the account adds to. The program is renewed for each account, and its
 * age is checked at the decision: a worker that stood still for long would expire points whose
 * lifetime has been lengthened meanwhile.
 */
async function expireDueInAccount(
  deps: Pick<Deps, "engine" | "programs">,
  { programId, userId }: AccountName,
): Promise<"expired" | "unchanged"> {
  const ref = accountRef(programId, userId);
  await deps.programs.get(programId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide(tx, now) {
      const account = tx.get(ref);
      if (!account) return "unchanged";
      const program = deps.programs.current(programId);
      const { account: changed, entries } = expireForMonthEnd(account, program, now.calendar);
      if (entries.length > 0 || changed.oldest !== account.oldest) tx.put(ref, changed);
      putEntries(tx, changed, entries);
      return entries.length > 0 ? "expired" : "unchanged";
    },
  });
}
