/** Tests that the members of many groups are read side by side, and as rarely as possible. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { inboxRef, unreadGroupRef } from "../../../src/feed/ports/records.ts";
import type { Group } from "../../../src/feed/rules/unread-group.ts";
import {
  markAllNotificationsRead,
  markNotificationRead,
} from "../../../src/feed/use-cases/notifications/commands.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { createGate } from "../../support/fixtures/account-fixture.ts";
import { settled } from "../../support/fixtures/settled.ts";
import { delayedBy } from "../../support/stores/item-by-item.ts";
import { memoryDeps, type Request } from "../../support/stores/memory-store.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const ownerId = "owner";
const postOf = (post: number) => ({ type: "post", id: `p${post}` });
const likeOf = (post: number, userId: string) => ({
  target: postOf(post),
  kind: "like",
  userId,
  displayName: userId,
});
const like = (deps: Deps, post: number, userId: string) => react(deps, likeOf(post, userId));
const unlike = (deps: Deps, post: number, userId: string) => unreact(deps, likeOf(post, userId));
const read = (deps: Deps, post: number, version: number) =>
  markNotificationRead(deps, { ownerId, target: postOf(post), kind: "like", version });

/** The numbers from 0 to `count - 1`. */
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const isMarkRead = ({ writes }: Request) => writes.some(({ ref }) => ref.kind === "readGroup");

/** Posts, each with likes in the order of the names. */
async function createPosts(count: number, ...names: readonly string[]) {
  const { deps, store, process, clock } = memoryDeps({ random: () => 0.5 });
  const posts = upTo(count);
  await settled(
    Promise.all(
      posts.map((post) =>
        registerTarget(deps, { target: postOf(post), ownerId, title: "", link: "" }),
      ),
    ),
  );
  for (const name of names) {
    // Of many people, 45 take more than a second.
    clock.time += 30;
    await settled(Promise.all(posts.map((post) => like(deps, post, name))));
  }
  store.latencyMs = 1;
  store.resetStats();

  const inbox = async () => (await deps.reader.get(inboxRef(ownerId)))?.value;
  const group = async (post: number) =>
    (await deps.reader.get(unreadGroupRef(ownerId, postOf(post), "like")))?.value;

  /** Changes a post on another process before each of the next commits of a mark as read. */
  const beforeMarks = (...changes: readonly ((deps: Deps) => Promise<unknown>)[]) => {
    const left = [...changes];
    const other = process();
    store.arriving = async (request) => {
      if (isMarkRead(request)) await left.shift()?.(other);
      return undefined;
    };
    return { left };
  };

  /** Marks posts as read by one batch: the calls come in while another one is committed. */
  async function markAll(marks: readonly (readonly [post: number, version: number])[]) {
    const gate = createGate();
    const { arriving } = store;
    store.arriving = async (request) => {
      if (request.op !== "commit") return undefined;
      store.arriving = arriving;
      gate.reach();
      await gate.passed;
      return undefined;
    };
    const first = like(deps, 0, "first");
    await settled(gate.reached);
    const marked = Promise.all(marks.map(([post, version]) => read(deps, post, version)));
    store.resetStats();
    gate.open();
    const answers = await settled(marked);
    await settled(first);
    return answers.filter(({ changed }) => changed).length;
  }

  return { deps, store, process, posts, inbox, group, beforeMarks, markAll };
}

const idsOf = (members: Group["firstMembers"] = []) => members.map(({ userId }) => userId).join();

describe("marks as read of many groups", () => {
  /** With these people a group has more members than it shows, so that a mark has to read them. */
  const crowd = ["p0", "p1", "p2", "p3"];

  test("send their queries side by side, and end in one commit", async () => {
    const { store, posts, inbox, group, markAll } = await createPosts(15, ...crowd, "a", "b", "c");
    let waiting = 0;
    const all = Promise.withResolvers<void>();
    store.arriving = async ({ op }) => {
      if (op !== "members") return undefined;
      waiting += 1;
      // A query that waits for the answer of another one would wait for ever.
      if (waiting === posts.length) all.resolve();
      await all.promise;
      return undefined;
    };
    // The versions of "b".
    expect(await markAll(posts.map((post) => [post, 5 * 15 + 1 + post]))).toBe(15);
    expect(store.stats).toMatchObject({ queries: 15, commits: 1, writtenItems: 46 });
    expect(await inbox()).toMatchObject({ notificationCount: 15, actorCount: 16 });
    expect(idsOf((await group(0))?.firstMembers)).toBe("c,first");
    for (const post of posts.slice(1)) expect(idsOf((await group(post))?.firstMembers)).toBe("c");
  });

  test("read only the group again that got a like meanwhile", async () => {
    const fixture = await createPosts(15, ...crowd, "a", "b");
    const { store, posts, inbox, group, beforeMarks, markAll } = fixture;
    const { left } = beforeMarks((other) => like(other, 7, "c"));
    expect(await markAll(posts.map((post) => [post, 4 * 15 + 1 + post]))).toBe(15);
    expect(left).toEqual([]);
    expect(store.stats).toMatchObject({ queries: 16 });
    expect(await inbox()).toMatchObject({ notificationCount: 15, actorCount: 17 });
    expect(idsOf((await group(7))?.firstMembers)).toBe("b,c");
    expect(idsOf((await group(8))?.firstMembers)).toBe("b");
  });

  test("wait for the next batch only when an earlier call has changed their group", async () => {
    const { store, posts, inbox, group, markAll } = await createPosts(5, "a", "b", "c", ...crowd);
    const batches: number[] = [];
    store.answering = ({ writes }) => {
      const marks = writes.filter(({ ref }) => ref.kind === "readGroup");
      if (marks.length > 0) batches.push(marks.length);
    };
    const marks = [1, 6].flatMap((version) => posts.map((post) => [post, version + post] as const));
    expect(await markAll(marks)).toBe(10);
    expect(batches).toEqual([5, 5]);
    expect(await inbox()).toMatchObject({ notificationCount: 5, actorCount: 26 });
    for (const post of posts) expect(idsOf((await group(post))?.firstMembers)).toMatch(/^c/);
  });

  test("of an owner share commits, and all newcomers stay unread", async () => {
    const { deps, store, posts, inbox, group } = await createPosts(60, ...crowd, "a", "b", "c");
    const version = (await inbox())?.version ?? 0;
    await settled(Promise.all(posts.map((post) => like(deps, post, "d"))));
    store.resetStats();
    const { markedCount } = await settled(markAllNotificationsRead(deps, { ownerId, version }));
    expect(markedCount).toBe(60);
    expect(store.stats.queries).toBe(60);
    expect(store.stats.commits).toBeLessThan(10);
    expect(await inbox()).toMatchObject({ notificationCount: 60, actorCount: 60 });
    for (const post of posts) expect(idsOf((await group(post))?.firstMembers)).toBe("d");
  });
});

describe("a mark as read of an early version", () => {
  const names = upTo(200).map((i) => `u${i}`);
  /** How many requests a split makes: two pages of each side's count, and both ends. */
  const requests = 6;

  test("keeps its count while another process adds likes", async () => {
    const { deps, store, inbox, group, beforeMarks } = await createPosts(1, ...names);
    const newcomers = upTo(4).map((i) => `n${i}`);
    const { left } = beforeMarks(...newcomers.map((name) => (other: Deps) => like(other, 0, name)));
    expect(await settled(read(deps, 0, 50))).toMatchObject({ changed: true });
    expect(left).toEqual([]);
    expect(store.stats.queries).toBe(requests);
    expect(await inbox()).toMatchObject({ notificationCount: 1, actorCount: 154 });
    const unread = await group(0);
    expect(unread?.actorCount).toBe(154);
    expect(idsOf(unread?.firstMembers)).toBe("u50,u51");
    expect(idsOf(unread?.latestMembers)).toBe("n3,n2,n1");
  });

  test("counts again when somebody has left", async () => {
    const { deps, store, inbox, group, beforeMarks } = await createPosts(1, ...names);
    beforeMarks(
      (other) => like(other, 0, "n0"),
      (other) => unlike(other, 0, "u20"),
      (other) => like(other, 0, "n1"),
    );
    expect(await settled(read(deps, 0, 50))).toMatchObject({ changed: true });
    expect(store.stats.queries).toBe(2 * requests);
    expect(await inbox()).toMatchObject({ notificationCount: 1, actorCount: 152 });
    expect((await group(0))?.actorCount).toBe(152);
    const { items } = await deps.reader.readGroups(ownerId, 0, { size: 2, cursor: undefined });
    expect(items.map(({ actorCount }) => actorCount)).toEqual([49]);
  });

  test("forgets its count when its queue is empty", async () => {
    const { deps, store } = await createPosts(1, ...names);
    store.arriving = (request) => (isMarkRead(request) ? "throttled" : undefined);
    const deadline = performance.now() + 1_000;
    const name = { ownerId, target: postOf(0), kind: "like", version: 50, deadline };
    const refused = settled(markNotificationRead(deps, name));
    await expect(refused).rejects.toMatchObject({ reason: "THROTTLED" });
    store.arriving = undefined;
    await vi.advanceTimersByTimeAsync(10_000);
    store.resetStats();
    await settled(read(deps, 0, 50));
    expect(store.stats.queries).toBe(requests);
  });
});

describe("recent members whose rows are applied last", () => {
  /** What one process does, and how long after the call before it. */
  const call = fc.record({
    act: fc.constantFrom("like", "like", "unlike", "read"),
    who: fc.integer({ min: 0, max: 11 }),
    back: fc.integer({ min: 0, max: 6 }),
    process: fc.integer({ min: 0, max: 2 }),
    pauseMs: fc.integer({ min: 0, max: 12 }),
  });
  const delays = fc.array(fc.constantFrom(0, 5, 20, 60), { minLength: 3, maxLength: 9 });

  test("are neither missed nor doubled by three processes", async () => {
    const lives = fc.asyncProperty(
      fc.array(call, { minLength: 10, maxLength: 25 }),
      delays,
      async (calls, applyMs) => {
        const { deps, store, process, inbox, group } = await createPosts(1, "u0", "u1", "u2", "u3");
        const wait = delayedBy(applyMs);
        // The group is visible before the rows of its members.
        store.beforeItem = (op, ref) => (ref.kind === "reaction" ? wait(op, ref) : undefined);
        const processes = [deps, process(), process()] as const;
        const answers: Promise<unknown>[] = [];
        for (const { act, who, back, process: index, pauseMs } of calls) {
          await vi.advanceTimersByTimeAsync(pauseMs);
          const from = processes[index] as Deps;
          const version = ((await inbox())?.version ?? 0) - back;
          if (act === "like") answers.push(like(from, 0, `u${who}`));
          if (act === "unlike") answers.push(unlike(from, 0, `u${who}`));
          if (act === "read") answers.push(read(from, 0, version));
        }
        await settled(Promise.all(answers));
        const page = { size: 100, cursor: undefined };
        const query = { target: postOf(0), kind: "like" };
        const rows = (await deps.reader.reactions(query, page)).items;
        const unread = await group(0);
        const since = unread?.firstMembers[0]?.version ?? Number.POSITIVE_INFINITY;
        const members = rows.filter((row) => row.notified && row.version >= since);
        expect(unread?.actorCount ?? 0).toBe(members.length);
        expect(unread?.recent.count ?? 0).toBe(members.length);
        expect(idsOf(unread?.latestMembers)).toBe(idsOf(members.slice(0, 3)));
        expect(idsOf(unread?.firstMembers)).toBe(idsOf(members.toReversed().slice(0, 2)));
        expect((await inbox())?.actorCount).toBe(members.length);
      },
    );
    await fc.assert(lives, { numRuns: 40 });
  });
});
