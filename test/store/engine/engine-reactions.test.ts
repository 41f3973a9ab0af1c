/** Tests the commit engine where records are deleted, only read, or members of a group. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { markNotificationRead } from "../../../src/app/notifications/commands.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import type { Transaction } from "../../../src/app/ports/engine.ts";
import {
  inboxRef,
  type Ref,
  reactionRef,
  targetRef,
  unreadGroupRef,
} from "../../../src/app/ports/records.ts";
import { type ReactionResult, react, unreact } from "../../../src/app/reactions/commands.ts";
import { registerTarget } from "../../../src/app/reactions/targets.ts";
import type { UnreadGroup } from "../../../src/domain/notification.ts";
import type { Reaction } from "../../../src/domain/target.ts";
import { nameOf } from "../../../src/store/engine/item-store.ts";
import {
  beforeItemOf,
  createGate,
  type Isolation,
  isolations,
} from "../../support/fixtures/account-fixture.ts";
import { settled } from "../../support/fixtures/settled.ts";
import { type Fault, memoryDeps, type Request } from "../../support/stores/memory-store.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const ownerId = "owner";
const post = { type: "post", id: "1" };
const refs = {
  target: targetRef(post),
  inbox: inboxRef(ownerId),
  group: unreadGroupRef(ownerId, post, "like"),
  row: (userId: string) => reactionRef(post, "like", userId),
};

const like = (deps: Deps, userId: string): Promise<ReactionResult> =>
  react(deps, { target: post, kind: "like", userId, actorName: userId.toUpperCase() });
const unlike = (deps: Deps, userId: string): Promise<ReactionResult> =>
  unreact(deps, { target: post, kind: "like", userId });
const read = async (deps: Deps, version: number): Promise<boolean> => {
  const name = { ownerId, target: post, kind: "like" };
  return (await markNotificationRead(deps, { ...name, version })).changed;
};

/** Calls after earlier calls, because a reaction first reads its owner. */
const afterwards = <T>(call: () => Promise<T>): Promise<T> =>
  new Promise((resolve) => setTimeout(resolve, 1)).then(call);

const done = (count: number): ReactionResult => ({ changed: true, reactionCount: count });
const same = (count: number): ReactionResult => ({ changed: false, reactionCount: count });

const reactionFixturesIn =
  (isolation: Isolation) =>
  (...likers: string[]) =>
    createReactionFixture(isolation, likers);

async function createReactionFixture(isolation: Isolation, likers: readonly string[]) {
  const { deps, store, process } = memoryDeps({ random: () => 0.5 });
  store.latencyMs = 1;
  store.beforeItem = beforeItemOf(isolation);
  const others = { title: "", link: "" };
  await settled(registerTarget(deps, { target: post, ownerId, ...others }));
  for (const userId of likers) await settled(like(deps, userId));
  store.resetStats();

  /** Starts `calls` during a commit on their key, so that the engine coalesces them. */
  async function coalesced<T>(from: Deps, calls: () => readonly Promise<T>[]): Promise<T[]> {
    const gate = createGate();
    store.arriving = async ({ op }) => {
      if (op !== "commit") return undefined;
      store.arriving = undefined;
      gate.reach();
      await gate.passed;
      return undefined;
    };
    const target = { type: "post", id: `first-${Math.random()}` };
    const first = registerTarget(from, { target, ownerId, ...others });
    await settled(gate.reached);
    const started = calls();
    for (const each of started) each.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(5);
    store.resetStats();
    gate.open();
    const answers = await settled(Promise.all(started));
    await settled(first);
    return answers;
  }

  /** Runs `act` once, before the next request with this operation takes effect. */
  const once = (op: Request["op"], act: () => Promise<unknown>): void => {
    store.arriving = async (request): Promise<Fault | undefined> => {
      if (request.op !== op) return undefined;
      store.arriving = undefined;
      await act();
      return undefined;
    };
  };

  /** The operations and kinds of the writes of each commit. */
  const commits: string[][] = [];
  store.answering = ({ op, writes }) => {
    if (op !== "commit") return;
    commits.push(writes.map((write) => `${write.op} ${write.ref.kind}`));
  };

  /** Compares counts, group and inbox with the rows, and returns the unread and read actors. */
  async function check(): Promise<{ unread: string[]; read: string[][] }> {
    const rows = (
      await deps.reader.reactions(
        { target: post, kind: "like" },
        { size: 1_000, cursor: undefined },
      )
    ).items.toReversed();
    const target = (await deps.reader.get(refs.target))?.value;
    const inbox = (await deps.reader.get(refs.inbox))?.value;
    const group = (await deps.reader.get(refs.group))?.value;
    expect(target?.counts.like ?? 0).toBe(rows.length);
    const members = rows.filter(
      ({ version, notified }) => notified && group && version >= group.firstVersion,
    );
    expect(group?.peopleCount ?? 0).toBe(members.length);
    expect(inbox).toMatchObject({ groupCount: group ? 1 : 0, peopleCount: members.length });
    const userIds = members.map(({ userId }) => userId);
    expect((group?.firstActors ?? []).map(({ userId }) => userId)).toEqual(userIds.slice(0, 2));
    expect((group?.latestActors ?? []).map(({ userId }) => userId)).toEqual(
      userIds.toReversed().slice(0, 3),
    );
    const history = await deps.reader.readGroups(ownerId, 0, { size: 1_000, cursor: undefined });
    const read = history.items.map(({ firstActors, peopleCount }) => [
      String(peopleCount),
      ...firstActors.map(({ userId }) => userId),
    ]);
    return { unread: userIds, read };
  }

  return { deps, store, process, coalesced, once, commits, check };
}

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

  test("a record that is put and deleted in one batch is not written", async () => {
    const { deps, coalesced, store, check } = await createFixture();
    const answers = await coalesced(deps, () => [like(deps, "a"), unlike(deps, "a")]);
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
    const see = (tx: Transaction) => void seen.push(tx.recordVersion(refs.row("a")));
    const call = deps.engine.transact({
      key: refs.inbox,
      readSet: [refs.row("a")],
      expectAbsent: [],
      deadline: undefined,
      decide(tx) {
        const row = tx.get(refs.row("a"));
        if (!row) throw new Error("there is no row");
        see(tx);
        tx.delete(refs.row("a"));
        expect(tx.get(refs.row("a"))).toBeUndefined();
        see(tx);
        tx.put(refs.row("a"), row);
        see(tx);
      },
    });
    await settled(call);
    expect(seen).toEqual([1, 0, 2]);
  });

  test("a stale copy of a reaction that was deleted and put again fails", async () => {
    const { deps, process, once } = await createFixture("a");
    const other = process();
    once("commit", async () => {
      await unlike(other, "a");
      await like(other, "a");
    });
    const ref = refs.row("a");
    const call = deps.engine.transact({
      key: refs.inbox,
      readSet: [ref],
      expectAbsent: [],
      deadline: undefined,
      decide(tx) {
        tx.put(ref, { ...(tx.get(ref) as Reaction), actorName: "new" });
      },
    });
    await settled(call);
    expect((await deps.reader.get(ref))?.value).toMatchObject({ actorName: "new", version: 3 });
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
      deadline: undefined,
      decide(tx) {
        const group = tx.get(refs.group) as UnreadGroup;
        seen.push(group.firstActors.map(({ userId }) => userId));
        tx.put(refs.group, { ...group, updateTime: 7 });
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
      deadline: undefined,
      decide(tx) {
        seen.push([...reads, ...absent].map((ref) => tx.recordVersion(ref)).join());
        tx.put(refs.inbox, tx.get(refs.inbox) ?? { version: 9, groupCount: 0, peopleCount: 0 });
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
    expect(commits.at(-1)?.toSorted()).toEqual([
      "check unreadGroup",
      "delete reaction",
      "put inbox",
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

describe.each(isolations)("reading members, applied %s", (isolation) => {
  const createFixture = reactionFixturesIn(isolation);

  test("is the first call of a batch, and later calls are coalesced with it", async () => {
    const { deps, store, coalesced, commits, check } = await createFixture("a", "b");
    const answers = await coalesced<unknown>(deps, () => [
      like(deps, "c"),
      afterwards(() => read(deps, 1)),
      afterwards(() => like(deps, "d")),
      afterwards(() => unlike(deps, "b")),
    ]);
    expect(answers).toEqual([done(3), true, done(4), done(3)]);
    expect(await check()).toEqual({ unread: ["c", "d"], read: [["1", "a"]] });
    // "c" has to be in the store when the actors after version 1 are counted.
    expect(commits.slice(-2).map((each) => each.includes("put readGroup"))).toEqual([false, true]);
    // A small group is read whole.
    expect(store.stats).toMatchObject({ queries: 1, commits: 2 });
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
    const { deps, process, store, once, check } = await createFixture("a", "b", "c");
    once("commit", () => like(process(), "d"));
    expect(await settled(read(deps, 1))).toBe(true);
    expect(await check()).toEqual({ unread: ["b", "c", "d"], read: [["1", "a"]] });
    expect(store.stats.queries).toBe(2);
  });

  test("members are dropped when the records have other versions", async () => {
    const { deps, process, store, check } = await createFixture("a", "b");
    // This process still has "a" in its cache.
    await settled(unlike(process(), "a"));
    store.resetStats();
    await vi.advanceTimersByTimeAsync(1);
    expect(await settled(read(deps, 1))).toBe(false);
    // The row is read again together with inbox and group, which have changed: that
    // one read validates the row and the answer.
    expect(store.stats).toMatchObject({ reads: 1, queries: 1, commits: 0 });
    expect(await check()).toEqual({ unread: ["b"], read: [] });
  });

  test.each<[string, (deps: Deps) => Promise<unknown>, boolean, string[]]>([
    ["the only actor that was seen leaves", (other) => unlike(other, "a"), false, ["b"]],
    ["as many join as were seen", (other) => like(other, "c"), true, ["b", "c"]],
    ["all later actors leave", (other) => unlike(other, "b"), true, []],
    ["another process has read it", (other) => read(other, 2), false, []],
  ])("between the reads and the answer: %s", async (_, act, changed, unread) => {
    const { process, once, check } = await createFixture("a", "b");
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
    const { deps, store, check } = await createFixture("a", "b");
    let left = 2;
    store.arriving = ({ op }) => (op === "members" && left-- > 0 ? "unavailable" : undefined);
    expect(await settled(read(deps, 1))).toBe(true);
    expect(await check()).toEqual({ unread: ["b"], read: [["1", "a"]] });
    await settled(like(deps, "c"));
    store.arriving = ({ op }) => (op === "members" ? "unavailable" : undefined);
    const error = await settled(read(deps, 2).catch((each: unknown) => each));
    expect(error).toMatchObject({ reason: "STORE_UNAVAILABLE" });
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
    // 97 rows with target, inbox and group, then the rest; and the call ahead of them.
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
  const all = [refs.target, refs.inbox, refs.group, refs.row("a")].map(nameOf);
  expect(all).toEqual([
    "target#post#1",
    "inbox#owner",
    "unreadGroup#owner#like#post#1",
    "reaction#post#1#like#a",
  ]);
});
