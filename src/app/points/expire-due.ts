/** Expires what is due in the accounts of one shard. */
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

/** Accounts that are settled side by side. */
const pageSize = 32;

/**
 * Settles the accounts of one shard that have something to expire, from its cursor on, until `more`
 * says stop. Settling twice does nothing, so a page that is begun again does no harm. An account
 * that cannot be settled is counted and named, and does not hold up the others; an outage is
 * thrown.
 */
export async function expireDueInShard(
  deps: Pick<Deps, "engine" | "reader" | "clock" | "programs">,
  { program: id, shard, cursor: start }: ExpireShardInput,
  more: (progress: ExpireShardResult) => boolean,
  onFailed: OnFailed = () => {},
): Promise<ExpireShardResult> {
  const program = await deps.programs.get(id);
  const { calendar } = await deps.clock.now();
  const due = expiredMonth(program, calendar);
  const counts = { settled: 0, vain: 0, failed: 0 };
  const failures: FailedAccount[] = [];
  let cursor = start;
  for (;;) {
    const page = await deps.reader.dueAccounts(id, shard, due, { size: pageSize, cursor });
    const settle = (name: AccountName) =>
      expireDueInAccount(deps, program, name).catch((error) =>
        failedAccount(name.userId, error, onFailed),
      );
    for (const end of await Promise.all(page.items.map(settle))) {
      counts[typeof end === "string" ? end : "failed"] += 1;
      if (typeof end !== "string" && failures.length < maxReports) failures.push(end);
    }
    cursor = page.cursor;
    const found = { ...counts, failures: [...failures] };
    const result = { ...found, ...(cursor !== undefined && { cursor }) };
    if (cursor === undefined || !more(result)) return result;
  }
}

async function expireDueInAccount(
  deps: Pick<Deps, "engine">,
  program: Program,
  { userId }: AccountName,
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
      const { account: swept, entries } = expireForMonthEnd(account, program, now.calendar);
      if (entries.length > 0 || swept.oldest !== account.oldest) tx.put(ref, swept);
      for (const entry of entries) tx.put(entryRef(program.programId, userId, entry.number), entry);
      return entries.length > 0 ? "settled" : "vain";
    },
  });
}
