/** Tests the commit engine where records are deleted or only read, and what a reaction costs. */
import { describe, expect, test, vi } from "vitest";
import { emptyInbox } from "../../../src/feed/rules/inbox.ts";
import type { Reaction, Target } from "../../../src/feed/rules/target.ts";
import type { UnreadGroup } from "../../../src/feed/rules/unread-group.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { nameOf } from "../../../src/platform/engine/item-store.ts";
import type { Transaction } from "../../../src/platform/ports/engine.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { isolations } from "../../support/fixtures/account-fixture.ts";
import {
  done,
  fakeEngineTime,
  like,
  ownerId,
  post,
  reactionFixturesIn,
  read,
  refs,
  same,
  unlike,
} from "../../support/fixtures/reaction-fixture.ts";
import { settled } from "../../support/fixtures/settled.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

fakeEngineTime();

describe.each(isolations)("deleting, applied %s", (isolation) => {
  const createFixture = reactionFixturesIn(isolation);

  test("put then delete, delete then put, and repeated calls, in one batch", async () => {
    const { deps, coalesced, commits, check } = await createFixture("old");
    const answers = await coalesced(deps, () => [
      like(deps, "a"),
      like(deps, "a"),
      unlike(deps, "a"),
      unlike(deps, "a"),
      unlike(deps, "old"),
      like(deps, "old"),
      like(deps, "a"),
    ]);
    expect(answers).toEqual([done(2), same(2), done(1), same(1), done(0), done(1), done(2)]);
    expect(await check()).toEqual({ unread: ["old", "a"], read: [] });
    const reactions = commits.at(-1)?.filter((each) => each.endsWith("reaction"));
    expect(reactions).toEqual(["put reaction", "put reaction"]);
  });

  test("a record that one call deletes may be put by the next undeclared", async () => {
    const { deps, coalesced } = await createFixture();
    const key = refs.inbox;
    const before = await deps.reader.get(refs.target);
    const value = before?.value as Target;
    const base = { key, expectAbsent: [], call: undefined };
    await coalesced(deps, () => [
      deps.engine.transact({
        ...base,
        readSet: [refs.target],
        decide: (tx) => tx.delete(refs.target),
      }),
      deps.engine.transact({
        ...base,
        readSet: [],
        decide: (tx) => tx.put(refs.target, { ...value, title: "put again" }),
      }),
    ]);
    const { value: after, version } = (await deps.reader.get(refs.target)) ?? {};
    expect([after?.title, version]).toEqual(["put again", (before?.version ?? 0) + 1]);
  });

  test("a record that is put and deleted in one batch is not written", async () => {
    const { deps, coalesced, store, check } = await createFixture();
    // An owner's own reaction leaves nothing.
    const answers = await coalesced(deps, () => [like(deps, ownerId), unlike(deps, ownerId)]);
    expect(answers).toEqual([done(1), done(0)]);
    expect(await check()).toEqual({ unread: [], read: [] });
    expect(Object.keys(store.dump()).filter((name) => name.startsWith("reaction"))).toEqual([]);
    expect((await deps.reader.get(refs.inbox))?.value.version).toBe(2);
  });

  test("a deleted record is cached as absent", async () => {
    const { deps, store, check } = await createFixture("a");
    expect(await settled(unlike(deps, "a"))).toEqual(done(0));
    store.resetStats();
    expect(await settled(like(deps, "b"))).toEqual(done(1));
    expect(store.stats).toMatchObject({ reads: 0, commits: 1, writtenItems: 4 });
    expect(await check()).toEqual({ unread: ["b"], read: [] });
  });

  test("a call sees the versions after its own writes", async () => {
    const { deps } = await createFixture("a");
    const seen: number[] = [];
    const see = (tx: Transaction) => void seen.push(tx.recordVersion(refs.record("a")));
    const call = deps.engine.transact({
      key: refs.inbox,
      readSet: [refs.record("a")],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const record = tx.get(refs.record("a"));
        if (!record) throw new Error("there is no record");
        see(tx);
        tx.delete(refs.record("a"));
        expect(tx.get(refs.record("a"))).toBeUndefined();
        see(tx);
        tx.put(refs.record("a"), record);
        see(tx);
      },
    });
    await settled(call);
    expect(seen).toEqual([1, 0, 2]);
  });

  test("a stale copy of a reaction that was deleted and put again fails", async () => {
    const { deps, process, once } = await createFixture(ownerId);
    const other = process();
    once("commit", async () => {
      await unlike(other, ownerId);
      await like(other, ownerId);
    });
    const ref = refs.record(ownerId);
    const call = deps.engine.transact({
      key: refs.inbox,
      readSet: [ref],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        tx.put(ref, { ...(tx.get(ref) as Reaction), displayName: "new" });
      },
    });
    await settled(call);
    expect((await deps.reader.get(ref))?.value).toMatchObject({ displayName: "new", version: 3 });
  });

  test("a stale copy of a group that was deleted and put again fails", async () => {
    const { deps, process, check } = await createFixture("a");
    // This process has the group of "a" in its cache; another one reads it and gets a new one.
    const other = process();
    expect(await settled(read(other, 1))).toBe(true);
    await settled(like(other, "b"));
    const seen: string[][] = [];
    const call = deps.engine.transact({
      key: refs.inbox,
      readSet: [refs.group],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const group = tx.get(refs.group) as UnreadGroup;
        seen.push(group.firstMembers.map(({ userId }) => userId));
        tx.put(refs.group, { ...group, leaveCount: 7 });
      },
    });
    await settled(call);
    expect(seen).toEqual([["a"], ["b"]]);
    expect(await check()).toEqual({ unread: ["b"], read: [["1", "a"]] });
  });
});

describe.each(isolations)("records that are only read, applied %s", (isolation) => {
  const createFixture = reactionFixturesIn(isolation);

  const readOnly = (deps: Deps, seen: string[], reads: Ref[], absent: Ref[]) =>
    deps.engine.transact({
      key: refs.inbox,
      readSet: [...reads, refs.inbox],
      expectAbsent: absent,
      call: undefined,
      decide(tx) {
        seen.push([...reads, ...absent].map((ref) => tx.recordVersion(ref)).join());
        tx.put(refs.inbox, tx.get(refs.inbox) ?? emptyInbox);
      },
    });

  test.each([
    ["read", [refs.target], [], ["1", "2"]],
    ["expected absent", [], [refs.target], ["0", "2"]],
  ])("%s and changed in between fails the commit", async (_, reads, absent, versions) => {
    const { deps, process, once, commits } = await createFixture();
    const change = () =>
      registerTarget(process(), { target: post, ownerId, title: "new", link: "" });
    once("commit", change);
    const seen: string[] = [];
    await settled(readOnly(deps, seen, reads, absent));
    expect(seen).toEqual(versions);
    expect(commits.at(-1)).toEqual(["put inbox", "check target"]);
  });

  test("an unlike of an actor who was read checks the new group", async () => {
    const { deps, coalesced, commits, check } = await createFixture("a", "z");
    await settled(read(deps, 2));
    await settled(like(deps, "b"));
    await coalesced(deps, () => [unlike(deps, "a")]);
    // The record stays for the cool-down.
    expect(commits.at(-1)?.toSorted()).toEqual([
      "check readMark",
      "check unreadGroup",
      "put inbox",
      "put reaction",
      "put target",
    ]);
    // Where later calls write the group, that write has the condition.
    await coalesced(deps, () => [unlike(deps, "z"), unlike(deps, "b"), like(deps, "c")]);
    expect(commits.at(-1)?.filter((each) => each.endsWith("unreadGroup"))).toEqual([
      "put unreadGroup",
    ]);
    expect(await check()).toEqual({ unread: ["c"], read: [["2", "a", "z"]] });
  });
});

describe.each(isolations)("costs, applied %s", (isolation) => {
  const createFixture = reactionFixturesIn(isolation);

  test("a like is one read and one write, on a busy target one write", async () => {
    const { deps, process, store } = await createFixture("a");
    const fresh = process();
    await settled(fresh.owners.of(post));
    store.resetStats();
    await settled(like(fresh, "b"));
    expect(store.stats).toMatchObject({ reads: 1, readItems: 3, commits: 1, writtenItems: 4 });
    await settled(like(fresh, "c"));
    expect(store.stats).toMatchObject({ reads: 1, commits: 2, writtenItems: 8, queries: 0 });
    expect(await settled(like(deps, "c"))).toEqual(same(3));
  });

  test("many likers of one target share transactions", async () => {
    const { deps, store, coalesced, check } = await createFixture();
    const userIds = Array.from({ length: 128 }, (_, i) => `u${i}`);
    const answers = await coalesced(deps, () => userIds.map((userId) => like(deps, userId)));
    expect(answers).toEqual(userIds.map((_, i) => done(i + 1)));
    // 97 records with target, inbox and group, then the rest; and the call ahead of them.
    expect(store.stats).toMatchObject({ commits: 2, writtenItems: 128 + 6, queries: 0 });
    expect((await check()).unread).toEqual(userIds);
  });

  test("processes that write one target lose and double no like", async () => {
    const { deps, process, check } = await createFixture();
    const processes = [deps, process(), process()];
    const userIds = Array.from({ length: 40 }, (_, i) => `u${i}`);
    const calls = userIds.flatMap((userId, i) =>
      [0, 1].map((turn) => like(processes[(i + turn) % 3] as Deps, userId)),
    );
    const answers = await settled(Promise.all(calls));
    expect(answers.filter(({ changed }) => changed)).toHaveLength(40);
    expect((await check()).unread.toSorted()).toEqual(userIds.toSorted());
  });
});

test("names of records are made of their keys", () => {
  const all = [refs.target, refs.inbox, refs.group, refs.record("a")].map(nameOf);
  expect(all).toEqual([
    "target#post#1",
    "inbox#owner",
    "unreadGroup#owner#like#post#1",
    "reaction#post#1#like#a",
  ]);
});
