import type { SettleShardInput, SettleShardResult } from "../contract.ts";
import { DomainError } from "../domain/errors.ts";
import { sweep } from "../domain/points.ts";
import { expiredMonth, type Program } from "../domain/program.ts";
import { type AccountName, accountRef, type Deps, entryRef } from "./ports.ts";

/** Accounts that are settled side by side. */
const pageSize = 32;

/**
 * Settles the accounts of one shard that have something to expire, from its cursor on, until `more`
 * says stop. Settling twice does nothing, so a page that is begun again does no harm.
 */
export async function settleShard(
  deps: Deps,
  { program: id, shard, cursor: start }: SettleShardInput,
  more: (progress: SettleShardResult) => boolean,
): Promise<SettleShardResult> {
  const program = await deps.programs.get(id);
  const { calendar } = await deps.clock.now();
  const due = expiredMonth(program, calendar);
  const counts = { settled: 0, vain: 0, failed: 0 };
  let cursor = start;
  for (;;) {
    const page = await deps.reader.dueAccounts(id, shard, due, { size: pageSize, cursor });
    const ends = await Promise.all(page.items.map((name) => settleAccount(deps, program, name)));
    for (const end of ends) counts[end] += 1;
    cursor = page.cursor;
    const result = { ...counts, ...(cursor !== undefined && { cursor }) };
    if (cursor === undefined || !more(result)) return result;
  }
}

/** One account that cannot be settled, as when it is behind its ledger, does not hold up others. */
async function settleAccount(
  deps: Deps,
  program: Program,
  { user }: AccountName,
): Promise<"settled" | "vain" | "failed"> {
  const ref = accountRef(program.id, user);
  try {
    return await deps.engine.run({
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
  } catch (error) {
    if (error instanceof DomainError && error.reason === "CONTENDED") return "failed";
    throw error;
  }
}
