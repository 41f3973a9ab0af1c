/** Tests the queries of `group-members.ts` for members of an unread group. */
import { describe, expect, test } from "vitest";
import type { Reaction } from "../../../src/feed/rules/target.ts";
import { memberQueries } from "../../../src/feed/store/group-members.ts";
import type { TargetName } from "../../../src/platform/words/target-name.ts";
import { newTarget, put, range, reaction } from "../../support/fixtures/stored-reactions.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";
import { fill } from "../../support/stores/records.ts";

/** What is read of the members of a group. */
type Read =
  | { readonly read: "recent"; readonly after: number; readonly count: number }
  | { readonly read: "ends"; readonly from: number; readonly to: number }
  | {
      readonly read: "split";
      readonly from: number;
      readonly at: number;
      readonly to: number;
      readonly total: number;
    };

describe("members of a group", () => {
  /** Sets up a target with records, and a query that returns the versions of the members. */
  async function setUp(recordsOf: (name: TargetName) => readonly Reaction[]) {
    const { client, itemStore } = createMemoryStore();
    const queries = memberQueries(client, "reactions");
    const name = newTarget();
    await fill(itemStore, recordsOf(name).map(put));
    const query = async (wanted: Read) => {
      const members = { target: name, kind: "like" };
      switch (wanted.read) {
        case "recent": {
          // One more than expected shows that there are more.
          const found = await queries.membersAfter(members, wanted.after, wanted.count + 1);
          return { count: found.length, first: found, latest: found.toReversed() };
        }
        case "ends":
          return { count: 0, ...(await queries.memberEnds(members, wanted.from, wanted.to)) };
        case "split":
          return queries.splitMembers(members, wanted, wanted.total);
      }
    };
    const versionsOf = (records: readonly { version: number }[]) =>
      records.map(({ version }) => version);
    const versions = async (wanted: Read) => {
      const { count, first, latest } = await query(wanted);
      return [count, versionsOf(first), versionsOf(latest)];
    };
    return versions;
  }

  const likes = (numbers: readonly number[]) => (name: TargetName) =>
    numbers.map((n) => reaction(name, n));

  test("split: counts up to a version; the latest before it, the first after it", async () => {
    const versions = await setUp(likes(range(1, 100)));
    // The records after 60 are recent members, which the count leaves out.
    const split = { read: "split", from: 3, to: 60, total: 58 } as const;
    expect(await versions({ ...split, at: 20 })).toEqual([18, [21, 22, 23], [20, 19, 18, 17]]);
    expect(await versions({ ...split, at: 3 })).toEqual([1, [4, 5, 6], [3]]);
    expect(await versions({ ...split, at: 59 })).toEqual([57, [60], [59, 58, 57, 56]]);
  });

  test("reactions without a notification are no members, wherever they are", async () => {
    const members = [30, 31, 100, 250, 251, 252, 253];
    const versions = await setUp((name) =>
      range(1, 300).map((n) => reaction(name, n, { notified: members.includes(n) })),
    );
    const first = [30, 31, 100];
    const latest = [253, 252, 251, 250];
    expect(await versions({ read: "ends", from: 1, to: 300 })).toEqual([0, first, latest]);
    expect(await versions({ read: "ends", from: 101, to: 249 })).toEqual([0, [], []]);
    expect(await versions({ read: "recent", after: 31, count: 5 })).toEqual([
      5,
      [100, 250, 251, 252, 253],
      [253, 252, 251, 250, 100],
    ]);
    const split = { read: "split", from: 30, to: 252, total: 6 } as const;
    for (const at of [100, 180, 249]) {
      expect(await versions({ ...split, at })).toEqual([3, [250, 251, 252], [100, 31, 30]]);
    }
  });

  test("counts over many pages, on either side of a split", async () => {
    // Pages end at 1 MB; these records are larger than real ones, so that there are several pages.
    const heavy = { displayName: "n".repeat(30_000) };
    const versions = await setUp((name) => range(1, 90).map((n) => reaction(name, n, heavy)));
    const split = { read: "split", from: 1, to: 90, total: 90 } as const;
    for (const at of [10, 45, 80]) {
      const first = [at + 1, at + 2, at + 3];
      const latest = [at, at - 1, at - 2, at - 3];
      expect(await versions({ ...split, at })).toEqual([at, first, latest]);
    }
    const all = range(1, 90);
    expect(await versions({ read: "recent", after: 0, count: 90 })).toEqual([
      90,
      all,
      all.toReversed(),
    ]);
  });
});
