/** Tests the readers of reactions and notifications: the queries of `group-members.ts` for members of an unread group. */
import { describe, expect, test } from "vitest";
import type { Reaction, TargetName } from "../../../src/domain/target.ts";
import { newTarget, put, range, reaction, refOf } from "../../support/fixtures/stored-reactions.ts";
import { openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, write } from "../../support/stores/records.ts";

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
    const { store, reader } = open();
    const name = newTarget();
    await fill(store, recordsOf(name).map(put));
    const query = async (wanted: Read, kind = "like") => {
      const members = { target: name, kind };
      switch (wanted.read) {
        case "recent": {
          // One more than expected shows that there are more.
          const found = await reader.membersAfter(members, wanted.after, wanted.count + 1);
          return { count: found.length, first: found, latest: found.toReversed() };
        }
        case "ends":
          return { count: 0, ...(await reader.memberEnds(members, wanted.from, wanted.to)) };
        case "split":
          return reader.splitMembers(members, wanted, wanted.total);
      }
    };
    const versionsOf = (records: readonly { version: number }[]) =>
      records.map(({ version }) => version);
    const versions = async (wanted: Read, kind?: string) => {
      const { count, first, latest } = await query(wanted, kind);
      return [count, versionsOf(first), versionsOf(latest)];
    };
    return { store, name, query, versions };
  }

  const likes = (numbers: readonly number[]) => (name: TargetName) =>
    numbers.map((n) => reaction(name, n));

  test("recent: all after a version, whole, and one more than expected", async () => {
    const { versions, query, name } = await setUp(likes(range(1, 60)));
    const [up, down] = [range(11, 60), range(11, 60).toReversed()];
    expect(await versions({ read: "recent", after: 10, count: 50 })).toEqual([50, up, down]);
    expect(await versions({ read: "recent", after: 10, count: 90 })).toEqual([50, up, down]);
    const further = range(11, 56);
    expect(await versions({ read: "recent", after: 10, count: 45 })).toEqual([
      46,
      further,
      further.toReversed(),
    ]);
    expect(await versions({ read: "recent", after: 60, count: 1 })).toEqual([0, [], []]);
    const { first } = await query({ read: "recent", after: 58, count: 2 });
    expect(first).toEqual([reaction(name, 59), reaction(name, 60)]);
  });

  test("ends: three first and four latest, the ends of the range included", async () => {
    const { versions } = await setUp(likes(range(1, 40)));
    const first = [11, 12, 13];
    const latest = [30, 29, 28, 27];
    expect(await versions({ read: "ends", from: 11, to: 30 })).toEqual([0, first, latest]);
    expect(await versions({ read: "ends", from: 5, to: 6 })).toEqual([0, [5, 6], [6, 5]]);
    expect(await versions({ read: "ends", from: 41, to: 99 })).toEqual([0, [], []]);
  });

  test("split: counts up to a version; the latest before it, the first after it", async () => {
    const { versions } = await setUp(likes(range(1, 100)));
    // The records after 60 are recent members, which the count leaves out.
    const split = { read: "split", from: 3, to: 60, total: 58 } as const;
    expect(await versions({ ...split, at: 20 })).toEqual([18, [21, 22, 23], [20, 19, 18, 17]]);
    expect(await versions({ ...split, at: 3 })).toEqual([1, [4, 5, 6], [3]]);
    expect(await versions({ ...split, at: 59 })).toEqual([57, [60], [59, 58, 57, 56]]);
  });

  test("split: the first after it are never recent members", async () => {
    const { versions } = await setUp(likes([1, 2, 3, 50, 51, 52, 53]));
    const split = { read: "split", from: 1, to: 49, total: 3 } as const;
    expect(await versions({ ...split, at: 10 })).toEqual([3, [], [3, 2, 1]]);
    expect(await versions({ ...split, at: 2 })).toEqual([2, [3], [2, 1]]);
  });

  test("reactions without a notification are no members, wherever they are", async () => {
    const members = [30, 31, 100, 250, 251, 252, 253];
    const { versions } = await setUp((name) =>
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

  test("withdrawn reactions are no members, and none again while they are quiet", async () => {
    const { versions, store, name } = await setUp(likes(range(1, 8)));
    const read = { readTime: 1_790_000_900_000 };
    const quiet = { ...read, expireTime: 1_790_000_990_000 };
    const withdraw = (n: number) => write(refOf(reaction(name, n)), quiet, n);
    await fill(store, [1, 4, 8].map(withdraw));
    const back = { ...reaction(name, 4), version: 9, notified: false, ...read };
    const members = [2, 3, 5, 6, 7];
    const expectMembers = async () => {
      const recent = await versions({ read: "recent", after: 0, count: 5 });
      expect(recent).toEqual([5, members, members.toReversed()]);
      const ends = await versions({ read: "ends", from: 1, to: 9 });
      expect(ends).toEqual([0, [2, 3, 5], [7, 6, 5, 3]]);
      const split = await versions({ read: "split", from: 1, at: 4, to: 9, total: 5 });
      expect(split).toEqual([2, [5, 6, 7], [3, 2]]);
    };
    await expectMembers();
    await fill(store, [write(refOf(back), back, 5)]);
    await expectMembers();
  });

  test("other kinds and other targets have members of their own", async () => {
    const { versions } = await setUp((name) => [
      ...likes([2, 5])(name),
      reaction(name, 3, { kind: "love" }),
      reaction({ ...name, type: "other" }, 6),
      reaction({ ...name, id: `${name.id}x` }, 7),
    ]);
    const ranges = [
      { read: "recent", after: 0, count: 2 },
      { read: "ends", from: 1, to: 9 },
      { read: "split", from: 1, at: 8, to: 9, total: 2 },
    ] as const;
    for (const [kind, found] of [
      ["like", [2, 5]],
      ["love", [3]],
      ["wow", []],
    ] as const) {
      const [recent, ends] = ranges;
      const latest = found.toReversed();
      expect(await versions(recent, kind)).toEqual([found.length, found, latest]);
      expect(await versions(ends, kind)).toEqual([0, found, latest]);
      const split = { ...ranges[2], total: found.length };
      expect(await versions(split, kind)).toEqual([found.length, [], latest]);
    }
  });

  test("counts over many pages, on either side of a split", async () => {
    // Pages end at 1 MB; these records are larger than real ones, so that there are several pages.
    const heavy = { displayName: "n".repeat(30_000) };
    const { versions } = await setUp((name) => range(1, 90).map((n) => reaction(name, n, heavy)));
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
