/** Expires what is due in the accounts of one shard. */
import {
  type FailedAccount,
  maxReports,
  type SettleShardInput,
  type SettleShardResult,
} from "../../contract.ts";
import { sweep } from "../../domain/points.ts";
import { expiredMonth, type Program } from "../../domain/program.ts";
import { type AccountName, accountRef, type Deps, entryRef } from "../ports/deps.ts";
import { failedAccount, type OnFailed } from "./failed-accounts.ts";

/** Accounts that are settled side by side. */
const pageSize = 32;

/**
 * Settles the accounts of one shard that have something to expire, from its cursor on, until `more`
 * says stop. Settling twice does nothing, so a page that is begun again does no harm. An account
 * that cannot be settled is counted and named, and does not hold up the others; an outage is
 * thrown.
 */
export async function settleShard(
  deps: Deps,
  { program: id, shard, cursor: start }: SettleShardInput,
  more: (progress: SettleShardResult) => boolean,
  onFailed: OnFailed = () => {},
): Promise<SettleShardResult> {
  const program = await deps.programs.get(id);
  const { calendar } = await deps.clock.now();
  const due = expiredMonth(program, calendar);
  const counts = { settled: 0, vain: 0, failed: 0 };
  const failures: FailedAccount[] = [];
  let cursor = start;
  for (;;) {
    const page = await deps.reader.dueAccounts(id, shard, due, { size: pageSize, cursor });
    const settle = (name: AccountName) =>
      settleAccount(deps, program, name).catch((error) =>
        failedAccount(name.user, error, onFailed),
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

async function settleAccount(
  deps: Deps,
  program: Program,
  { user }: AccountName,
): Promise<"settled" | "vain"> {
  const ref = accountRef(program.id, user);
  return deps.engine.run({
    key: ref,
    reads: [ref],
    absent: [],
    deadline: undefined,
    decide(view, now) {
      const account = view.get(ref);
      if (!account) return "vain";
      const { account: swept, entries } = sweep(account, program, now.calendar);
      if (entries.length > 0 || swept.oldest !== account.oldest) view.put(ref, swept);
      for (const entry of entries) view.put(entryRef(program.id, user, entry.number), entry);
      return entries.length > 0 ? "settled" : "vain";
    },
  });
}
