/**
 * Tests calls that are sent again while the first transaction is applied item by item: the second
 * call, on another process, must not be answered from a part of that transaction.
 */
import { describe, expect, test } from "vitest";
import {
  inboxRef,
  reactionRef,
  targetRef,
  unreadGroupRef,
} from "../../../src/feed/ports/records.ts";
import { emptyInbox } from "../../../src/feed/rules/inbox.ts";
import { markNotificationRead } from "../../../src/feed/use-cases/notifications/commands.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { nameOf } from "../../../src/platform/engine/item-store.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { eventRef } from "../../../src/points/ports/records.ts";
import {
  answer,
  createAccountFixture,
  createGate,
  done,
  grant,
  programId,
  refund,
  replayed,
  use,
  userId,
} from "../../support/fixtures/account-fixture.ts";
import { pause } from "../../support/stores/item-by-item.ts";
import type { MemoryStore } from "../../support/stores/memory-store.ts";

/** Sends a call twice, the second time while the last item of the first is not applied. */
const twice = <T>(
  store: MemoryStore,
  last: Ref,
  processes: readonly [Deps, Deps],
  call: (deps: Deps) => Promise<T>,
): Promise<[T, T]> => whileLate(store, last, processes, call, call);

/**
 * Sends a call to one process, and a second one to the other process when the transaction of the
 * first is applied except for one item, which follows later. Returns both answers.
 */
async function whileLate<A, B>(
  store: MemoryStore,
  last: Ref,
  processes: readonly [Deps, Deps],
  call: (deps: Deps) => Promise<A>,
  then: (deps: Deps) => Promise<B>,
): Promise<[A, B]> {
  const gate = createGate();
  store.beforeItem = async (op, ref) => {
    if (op !== "apply" || nameOf(ref) !== nameOf(last)) return;
    gate.reach();
    await gate.passed;
  };
  const [one, other] = processes;
  const first = call(one);
  await gate.reached;
  await pause(5);
  const second = then(other);
  await pause(100);
  store.beforeItem = undefined;
  gate.open();
  return Promise.all([first, second]);
}

const keyOf = (id: string) => eventRef(programId, userId, `c:${id}`);

test("the retry of a use of all points is not refused", async () => {
  const { deps, process, store } = createAccountFixture();
  await grant(deps, "g", 10);
  const answers = await twice(store, keyOf("u"), [deps, process()], (each) =>
    answer(use(each, "u", 10)),
  );
  expect(answers).toEqual([done(10, 0), replayed(10, 0)]);
});

test("nor is it when only the account has changed since both were read together", async () => {
  const { deps, process, store } = createAccountFixture();
  const other = process();
  await grant(deps, "g", 5);
  await grant(other, "h", 5);
  // The cache has 5 points, so 10 are refused; read validation finds 10 and no event key.
  const gate = createGate();
  let first: ReturnType<typeof answer> | undefined;
  store.arriving = async ({ op }) => {
    if (op !== "commit") return undefined;
    store.arriving = undefined;
    store.beforeItem = (_, { kind }) => (kind === "event" ? gate.passed : undefined);
    first = answer(use(other, "u", 10));
    await pause(5);
    store.beforeItem = undefined;
    return undefined;
  };
  const second = answer(use(deps, "u", 10));
  await pause(100);
  gate.open();
  expect(await Promise.all([first, second])).toEqual([done(10, 0), replayed(10, 0)]);
});

test("nor is the retry of a refund of all points, or of a part", async () => {
  const { deps, process, store } = createAccountFixture();
  await grant(deps, "g", 10);
  await use(deps, "u", 10);
  const processes = [deps, process()] as const;
  const part = await twice(store, keyOf("r"), processes, (each) =>
    answer(refund(each, "r", "u", 6)),
  );
  expect(part).toEqual([done(6, 6), replayed(6, 6)]);
  const rest = await twice(store, keyOf("s"), processes, (each) => answer(refund(each, "s", "u")));
  expect(rest).toEqual([done(4, 10), replayed(4, 10)]);
});

const ownerId = "owner";
const like = { target: { type: "post", id: "1" }, kind: "like", userId: "a", displayName: "A" };

async function createLikedPost(...likers: string[]) {
  const { deps, process, store, clock } = createAccountFixture();
  await registerTarget(deps, { target: like.target, ownerId, title: "", link: "" });
  for (const userId of likers) {
    // Of many people, 45 take more than a second.
    clock.time += 30;
    await react(deps, { ...like, userId });
  }
  return { store, processes: [deps, process()] as const };
}

test("a like that changes nothing has the right count", async () => {
  const { store, processes } = await createLikedPost("b");
  const answers = await twice(store, targetRef(like.target), processes, (deps) =>
    react(deps, like),
  );
  expect(answers).toEqual([
    { changed: true, reactionCount: 2 },
    { changed: false, reactionCount: 2 },
  ]);
});

test("an unlike that changes nothing has the right count", async () => {
  const { store, processes } = await createLikedPost("a", "b");
  const answers = await twice(store, targetRef(like.target), processes, (deps) =>
    unreact(deps, like),
  );
  expect(answers).toEqual([
    { changed: true, reactionCount: 1 },
    { changed: false, reactionCount: 1 },
  ]);
});

test("a mark-read that changes nothing has the right unread count", async () => {
  const { store, processes } = await createLikedPost("a", "b");
  const answers = await twice(store, inboxRef(ownerId), processes, (deps) =>
    markNotificationRead(deps, { ownerId, target: like.target, kind: "like", version: 2 }),
  );
  const inbox = { ...emptyInbox, version: 3, changeVersion: 3 };
  expect(answers).toEqual([
    { changed: true, inbox },
    { changed: false, inbox },
  ]);
});

const rowOf = (userId: string) => reactionRef(like.target, "like", userId);
const readAt = (version: number) => (deps: Deps) =>
  markNotificationRead(deps, { ownerId, target: like.target, kind: "like", version });

/** The unread group: its count, first and latest actors; and the people of the badge. */
async function unreadOf([{ reader }]: readonly [Deps, Deps]) {
  const group = (await reader.get(unreadGroupRef(ownerId, like.target, "like")))?.value;
  const people = (await reader.get(inboxRef(ownerId)))?.value.actorCount;
  const names = (actors: readonly { userId: string }[] = []) =>
    actors.map(({ userId }) => userId).join("");
  return [group?.actorCount, names(group?.firstMembers), names(group?.latestMembers), people];
}

test("a mark-read counts the newcomer whose row is applied last", async () => {
  const { store, processes } = await createLikedPost("a", "b");
  const newcomer = (deps: Deps) => react(deps, { ...like, userId: "c" });
  await whileLate(store, rowOf("c"), processes, newcomer, readAt(1));
  expect(await unreadOf(processes)).toEqual([2, "bc", "cb", 2]);
});

test("a mark-read does not count a newcomer whose row is deleted last", async () => {
  const { store, processes } = await createLikedPost("a", "b", "c", "d");
  const leaving = (deps: Deps) => unreact(deps, { ...like, userId: "c" });
  await whileLate(store, rowOf("c"), processes, leaving, readAt(2));
  expect(await unreadOf(processes)).toEqual([1, "d", "d", 1]);
});

test("a mark-read of a group whose rows are not applied yet waits for them", async () => {
  const { store, processes } = await createLikedPost();
  const first = (deps: Deps) => react(deps, { ...like, userId: "a" });
  await whileLate(store, rowOf("a"), processes, first, async (deps) => {
    await react(deps, { ...like, userId: "b" });
    return readAt(1)(deps);
  });
  expect(await unreadOf(processes)).toEqual([1, "b", "b", 1]);
});

test("a name that leaves is replaced by the one whose row is applied last", async () => {
  const { store, processes } = await createLikedPost("a", "b", "c", "d", "e", "f");
  const newcomer = (deps: Deps) => react(deps, { ...like, userId: "g" });
  const leaving = (deps: Deps) => unreact(deps, { ...like, userId: "f" });
  await whileLate(store, rowOf("g"), processes, newcomer, leaving);
  expect(await unreadOf(processes)).toEqual([6, "ab", "ged", 6]);
});

test("a name that leaves is replaced by the name of now, whose row is applied last", async () => {
  const { store, processes } = await createLikedPost("a", "b", "c", "d", "e", "f");
  const renaming = (deps: Deps) => react(deps, { ...like, userId: "c", displayName: "Cy" });
  const leaving = (deps: Deps) => unreact(deps, { ...like, userId: "a" });
  await whileLate(store, rowOf("c"), processes, renaming, leaving);
  const group = await processes[0].reader.get(unreadGroupRef(ownerId, like.target, "like"));
  expect(group?.value.firstMembers.map(({ displayName }) => displayName)).toEqual(["A", "Cy"]);
});

describe("the recent members of a large group", () => {
  const names = Array.from({ length: 200 }, (_, i) => `u${i + 1}`);

  test("are read with the newcomer whose row is applied last", async () => {
    const { store, processes } = await createLikedPost(...names);
    const newcomer = (deps: Deps) => react(deps, { ...like, userId: "new" });
    await whileLate(store, rowOf("new"), processes, newcomer, readAt(196));
    expect(await unreadOf(processes)).toEqual([5, "u197u198", "newu200u199", 5]);
  });

  test("are read without the one whose row is deleted last", async () => {
    const { store, processes } = await createLikedPost(...names);
    const leaving = (deps: Deps) => unreact(deps, { ...like, userId: "u198" });
    await whileLate(store, rowOf("u198"), processes, leaving, readAt(196));
    expect(await unreadOf(processes)).toEqual([3, "u197u199", "u200u199u197", 3]);
  });

  test("are not all that an older split waits for: one of the others is deleted last", async () => {
    const { store, processes } = await createLikedPost(...names);
    const leaving = (deps: Deps) => unreact(deps, { ...like, userId: "u20" });
    await whileLate(store, rowOf("u20"), processes, leaving, readAt(50));
    expect(await unreadOf(processes)).toEqual([150, "u51u52", "u200u199u198", 150]);
  });

  test("begin the group of an older split when the other members have left", async () => {
    const { store, processes } = await createLikedPost(...names.slice(0, 90));
    // Of the members after version 40 only the latest one is left.
    for (const userId of names.slice(40, 89)) await unreact(processes[0], { ...like, userId });
    const newcomer = (deps: Deps) => react(deps, { ...like, userId: "new" });
    await whileLate(store, rowOf("new"), processes, newcomer, readAt(40));
    expect(await unreadOf(processes)).toEqual([2, "u90new", "newu90", 2]);
  });
});
