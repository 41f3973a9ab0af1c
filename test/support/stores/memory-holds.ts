/** The lists of holds of the store in memory. */
import type { HoldReader } from "../../../src/app/ports/holds.ts";
import type { Hold } from "../../../src/domain/hold.ts";
import { shardOf } from "../../../src/store/dynamodb/codecs/codec.ts";
import { allOf, pad, pageOf, type Sorted, type Stored, sortBack } from "./memory-pages.ts";

export const holdReads = (records: ReadonlyMap<string, Stored>): HoldReader => ({
  async holdsOfUser({ programId, userId }, state, page) {
    const list = allOf(records, "hold")
      .filter((record) => record.programId === programId && record.userId === userId)
      .map((record) => ({ ...sorted(record), sort: sortBack(sorted(record).sort) }));
    const found = pageOf(`holds ${programId}#${userId}`, list, page);
    const items = found.items.filter((each) => state === undefined || each.state === state);
    return { ...found, items };
  },

  heldInShard: async (programId, shard, { start = 0, end = Number.POSITIVE_INFINITY }, page) =>
    pageOf(
      `held ${programId}#${shard}`,
      allOf(records, "hold")
        .filter((each) => each.programId === programId && shardOf(each.holdId) === shard)
        .filter(({ state, until }) => state === "HELD" && until >= start && until < end)
        .map(sorted),
      page,
    ),
});

const sorted = (record: Hold): Sorted<Hold> => ({
  sort: `${pad(record.until)}#${record.holdId}`,
  record,
});
