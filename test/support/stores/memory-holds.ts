/** The lists of holds of the store in memory. */
import type { HoldReader } from "../../../src/app/ports/holds.ts";
import type { AccountName } from "../../../src/app/ports/points.ts";
import type { Hold } from "../../../src/domain/hold.ts";
import { heldShardOf } from "../../../src/store/dynamodb/codecs/holds.ts";
import {
  allOf,
  cursorOf,
  pad,
  pageOf,
  type Sorted,
  type Stored,
  sortBack,
} from "./memory-pages.ts";

export const holdReads = (records: ReadonlyMap<string, Stored>): HoldReader => ({
  holdsOfUser: async (name, page) =>
    pageOf(
      listOf(name),
      allOf(records, "hold")
        .filter((record) => listOf(record) === listOf(name))
        .map((record) => ({ sort: sortOfUser(record), record })),
      page,
    ),

  cursorOfHoldsAfter: (record) => cursorOf(listOf(record), sortOfUser(record)),

  heldInShard: async (programId, shard, { start = 0, end = Number.POSITIVE_INFINITY }, page) =>
    pageOf(
      `held ${programId}#${shard}`,
      allOf(records, "hold")
        .filter((each) => each.programId === programId && heldShardOf(each.holdId) === shard)
        .filter(({ state, until }) => state === "HELD" && until >= start && until < end)
        .map(sorted),
      page,
    ),
});

const listOf = ({ programId, userId }: AccountName) => `holds ${programId}#${userId}`;

const sortOfUser = (record: Hold) => sortBack(sorted(record).sort);

const sorted = (record: Hold): Sorted<Hold> => ({
  sort: `${pad(record.until)}#${record.holdId}`,
  record,
});
