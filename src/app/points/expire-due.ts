/** The use case of the month-end sweep: expires what is due in the accounts of one shard. */
import {
  type ExpireShardInput,
  type ExpireShardResult,
  type FailedAccount,
  maxReports,
} from "../../contract.ts";
import { expireForMonthEnd } from "../../domain/points.ts";
import { expiredMonth, type Program } from "../../domain/program.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import { failedAccount, type OnFailed } from "./failed-accounts.ts";

/** The number of accounts that are processed concurrently. */
const pageSize = 32;

/**
 * Expires what is due in the accounts of one shard, from the cursor on, until `shouldContinue`
 * returns false. A page may be processed again: expiring twice changes nothing. An account that
 * fails is counted and named, and the work continues with the next one. Throws PROGRAM_NOT_FOUND,
 * PROGRAM_STALE, and the error of an outage.
 */
export async function expireDueInShard(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
  { program: programId, shard, cursor: start }: ExpireShardInput,
  shouldContinue: (progress: ExpireShardResult) => boolean,
  onFailed: OnFailed = () => {},
): Promise<ExpireShardResult> {
  const program = await deps.programs.get(programId);
  const { calendar } = await deps.clock.now();
  const month = expiredMonth(program, calendar);
  const counts = { settled: 0, vain: 0, failed: 0 };
  const failures: FailedAccount[] = [];
  let cursor = start;
  for (;;) {
    const request = { size: pageSize, cursor };
    const page = await deps.reader.dueAccounts(programId, shard, month, request);
    const expire = ({ userId }: AccountName) =>
      expireDueInAccount(deps, program, userId).catch((error) =>
        failedAccount(userId, error, onFailed),
      );
    for (const outcome of await Promise.all(page.items.map(expire))) {
      counts[typeof outcome === "string" ? outcome : "failed"] += 1;
      if (typeof outcome !== "string" && failures.length < maxReports) failures.push(outcome);
    }
    cursor = page.cursor;
    const progress = { ...counts, failures: [...failures] };
    const result = { ...progress, ...(cursor !== undefined && { cursor }) };
    if (cursor === undefined || !shouldContinue(result)) return result;
  }
}

/** Returns which count of `ExpireShardResult` the account adds to. */
async function expireDueInAccount(
  deps: Pick<Deps, "engine">,
  program: Program,
  userId: string,
): Promise<"settled" | "vain"> {
  const ref = accountRef(program.programId, userId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: undefined,
    decide(tx, now) {
      const account = tx.get(ref);
      if (!account) return "vain";
      const { account: changed, entries } = expireForMonthEnd(account, program, now.calendar);
      if (entries.length > 0 || changed.oldest !== account.oldest) tx.put(ref, changed);
      for (const entry of entries) tx.put(entryRef(program.programId, userId, entry.number), entry);
      return entries.length > 0 ? "settled" : "vain";
    },
  });
}
