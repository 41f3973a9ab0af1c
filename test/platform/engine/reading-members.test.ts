/** Tests how the commit engine reads the members of a group. */
import { describe, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { isolations } from "../../support/fixtures/account-fixture.ts";
import {
  afterwards,
  done,
  fakeEngineTime,
  like,
  reactionFixturesIn,
  read,
  unlike,
} from "../../support/fixtures/reaction-fixture.ts";
import { settled } from "../../support/fixtures/settled.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

fakeEngineTime();

describe.each(isolations)("reading members, applied %s", (isolation) => {
  const createFixture = reactionFixturesIn(isolation);
  /** With these people a group has more members than it shows, so that they have to be read. */
  const crowd = ["p0", "p1", "p2", "p3", "p4"];
  const unlikeAll = async (deps: Deps, ...userIds: readonly string[]) => {
    for (const userId of userIds) await unlike(deps, userId);
  };

  test("is the first call of a batch, and later calls are coalesced with it", async () => {
    const { deps, store, coalesced, commits, check } = await createFixture("a", "b", ...crowd);
    const answers = await coalesced<unknown>(deps, () => [
      like(deps, "c"),
      afterwards(() => read(deps, 1)),
      afterwards(() => like(deps, "d")),
      // Somebody who is not shown.
      afterwards(() => unlike(deps, "p2")),
    ]);
    expect(answers).toEqual([done(8), true, done(9), done(8)]);
    const unread = ["b", "p0", "p1", "p3", "p4", "c", "d"];
    expect(await check()).toEqual({ unread, read: [["1", "a"]] });
    // "c" has to be in the store when the actors after version 1 are counted.
    expect(commits.slice(-2).map((each) => each.includes("put readGroup"))).toEqual([false, true]);
    // So many members are recent, and read whole.
    expect(store.stats).toMatchObject({ queries: 1, commits: 2 });
  });

  test("is not needed of a group that shows all its members", async () => {
    const { deps, store, commits, coalesced, check } = await createFixture("a", "b", "c");
    const answers = await coalesced<unknown>(deps, () => [
      like(deps, "d"),
      afterwards(() => read(deps, 1)),
      afterwards(() => like(deps, "e")),
      afterwards(() => unlike(deps, "c")),
      afterwards(() => read(deps, 2)),
    ]);
    expect(answers).toEqual([done(4), true, done(5), done(4), true]);
    expect(await check()).toEqual({
      unread: ["d", "e"],
      read: [
        ["1", "b"],
        ["1", "a"],
      ],
    });
    expect(store.stats).toMatchObject({ queries: 0, commits: 1 });
    expect(commits.at(-1)?.filter((each) => each === "put readGroup")).toHaveLength(2);
  });

  test("does not split the batch of the calls ahead of it", async () => {
    const userIds = Array.from({ length: 9 }, (_, i) => `u${i}`);
    const { deps, coalesced, commits, check } = await createFixture(...userIds);
    // "u4" is not shown, "u0" and "u8" are.
    await coalesced(deps, () => ["u4", "u0", "u3", "u8"].map((userId) => unlike(deps, userId)));
    const sizes = commits.slice(-3).map((each) => each.filter((one) => one.endsWith("reaction")));
    expect(sizes.map(({ length }) => length)).toEqual([1, 2, 1]);
    expect(await check()).toEqual({ unread: ["u1", "u2", "u5", "u6", "u7"], read: [] });
  });

  test("a split reads the members again after a version conflict", async () => {
    const { deps, process, store, once, check } = await createFixture("a", "b", ...crowd);
    once("commit", () => like(process(), "d"));
    expect(await settled(read(deps, 1))).toBe(true);
    expect(await check()).toEqual({ unread: ["b", ...crowd, "d"], read: [["1", "a"]] });
    expect(store.stats.queries).toBe(2);
  });

  test("members are dropped when the records have other versions", async () => {
    const { deps, process, store, check } = await createFixture("a", "b", ...crowd);
    // This process still has "a" in its cache.
    await settled(unlike(process(), "a"));
    store.resetStats();
    await vi.advanceTimersByTimeAsync(1);
    expect(await settled(read(deps, 1))).toBe(false);
    // The read mark is read, and the query finds fewer members than the cached group has. Then
    // group and inbox are read together, which validates the answer.
    expect(store.stats).toMatchObject({ reads: 2, queries: 1, commits: 0 });
    expect(await check()).toEqual({ unread: ["b", ...crowd], read: [] });
  });

  test.each<[string, (deps: Deps) => Promise<unknown>, boolean, string[]]>([
    ["the only actor that was seen leaves", (other) => unlike(other, "a"), false, ["b", ...crowd]],
    ["as many join as were seen", (other) => like(other, "c"), true, ["b", ...crowd, "c"]],
    ["all later actors leave", (other) => unlikeAll(other, "b", ...crowd), true, []],
    ["another process has read it", (other) => read(other, 7), false, []],
  ])("between the reads and the answer: %s", async (_, act, changed, unread) => {
    const { process, once, check } = await createFixture("a", "b", ...crowd);
    once("members", async () => {
      await act(process());
    });
    expect(await settled(read(process(), 1))).toBe(changed);
    expect((await check()).unread).toEqual(unread);
  });

  test("between the two ends of a group", async () => {
    // More than are read whole.
    const userIds = Array.from({ length: 105 }, (_, i) => `u${i}`);
    const { deps, process, store, check } = await createFixture(...userIds);
    let started = 0;
    store.arriving = async ({ op }) => {
      if (op !== "members") return undefined;
      started += 1;
      if (started === 2) {
        store.arriving = undefined;
        await unlike(process(), "u104");
        await like(process(), "u105");
      }
      return undefined;
    };
    expect(await settled(unlike(deps, "u0"))).toEqual(done(104));
    expect((await check()).unread).toEqual([...userIds.slice(1, -1), "u105"]);
  });

  test("a query without an answer is retried, and given up in the end", async () => {
    const { deps, store, check } = await createFixture("a", "b", ...crowd);
    let left = 2;
    store.arriving = ({ op }) => (op === "members" && left-- > 0 ? "unavailable" : undefined);
    expect(await settled(read(deps, 1))).toBe(true);
    expect(await check()).toEqual({ unread: ["b", ...crowd], read: [["1", "a"]] });
    await settled(like(deps, "c"));
    store.arriving = ({ op }) => (op === "members" ? "unavailable" : undefined);
    const error = await settled(read(deps, 2).catch((each: unknown) => each));
    expect(error).toMatchObject({ reason: "STORE_UNAVAILABLE" });
  });
});
