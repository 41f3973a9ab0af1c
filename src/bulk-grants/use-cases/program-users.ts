/** Names some users who have points in a program, to compare the ids of a sheet with theirs. */

import { parseMonth } from "../../platform/words/month.ts";
import { shardCount } from "../../points/ports/points.ts";
import type { Deps } from "../ports/deps.ts";

/** A program with accounts of so many users has many. */
export const manyAccounts = 100;

/** Every account that may have points has an oldest month before this one. */
const lastMonth = parseMonth("9999-12");

/**
 * Returns users whose accounts may have points: all of few, `manyAccounts` or more of many. They
 * come from the index by which points expire, which lags behind by moments. The first shard of a
 * large program has enough of them.
 */
export async function someUsers(
  { reader }: Pick<Deps, "reader">,
  programId: string,
): Promise<readonly string[]> {
  async function usersOf(shard: number): Promise<string[]> {
    const page = { size: manyAccounts, cursor: undefined };
    const { items } = await reader.dueAccounts(programId, shard, lastMonth, page);
    return items.map(({ userId }) => userId);
  }
  const first = await usersOf(0);
  if (first.length >= manyAccounts) return first;
  const others = Array.from({ length: shardCount - 1 }, (_, i) => usersOf(i + 1));
  return [first, ...(await Promise.all(others))].flat();
}
