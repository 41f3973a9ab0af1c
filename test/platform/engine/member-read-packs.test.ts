/** Tests how the commit engine reads the members of groups for the calls of one batch. */
import { expect, test } from "vitest";
import { inboxRef } from "../../../src/feed/ports/records.ts";
import { markAllNotificationsRead } from "../../../src/feed/use-cases/notifications/commands.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { memoryDeps, type Request } from "../../support/stores/memory-store.ts";

const ownerId = "owner";
const notificationCount = 48;
const newcomers = ["a", "b", "c", "d", "e"];
const posts = Array.from({ length: notificationCount }, (_, i) => ({
  type: "post",
  id: String(i),
}));

const like = (deps: Deps, target: (typeof posts)[number], userId: string) =>
  react(deps, { target, kind: "like", userId, displayName: userId });

/** The version of the inbox, and the number of unread groups and of people. */
async function inboxOf({ reader }: Deps) {
  const found = await reader.get(inboxRef(ownerId));
  if (!found) throw new Error("there is no inbox");
  return found.value;
}

/** A group for each post, with one person that the owner has seen and newcomers. */
async function seenGroups(deps: Deps): Promise<{ readonly seen: number }> {
  for (const target of posts) await registerTarget(deps, { target, ownerId, title: "", link: "" });
  for (const target of posts) await like(deps, target, "seen");
  const { version } = await inboxOf(deps);
  for (const name of newcomers) for (const target of posts) await like(deps, target, name);
  // Somebody has left each group a moment ago, so that its rows have to be validated.
  for (const target of posts) {
    await like(deps, target, "leaver");
    await unreact(deps, { target, kind: "like", userId: "leaver" });
  }
  return { seen: version };
}

/** Whether a request is a commit of marks as read. */
const isMark = ({ op, writes }: Request) =>
  op === "commit" && writes.some(({ ref }) => ref.kind === "readGroup");

test("the groups of a batch are validated by as few reads as hold them", async () => {
  const { deps, store } = memoryDeps();
  const { seen } = await seenGroups(deps);
  const sizes: number[] = [];
  store.arriving = ({ op, refs }) => {
    if (op === "read" && refs.some(({ kind }) => kind === "reaction")) sizes.push(refs.length);
    return undefined;
  };
  store.resetStats();
  const { markedCount } = await markAllNotificationsRead(deps, { ownerId, version: seen });
  expect(markedCount).toBe(notificationCount);
  // Two pages of groups are marked. A long queue is divided between two batches, and the first
  // call may be a batch of its own.
  expect(store.stats.commits).toBeLessThanOrEqual(5);
  // Of each group six members are read, up to 100 of all of them at a time.
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(6 * notificationCount);
  expect(Math.max(...sizes)).toBeGreaterThan(90);
  expect(sizes.length).toBeLessThanOrEqual(5);
  const inbox = await inboxOf(deps);
  expect([inbox.notificationCount, inbox.actorCount]).toEqual([
    notificationCount,
    newcomers.length * notificationCount,
  ]);
});

test("a contended key is read again after the members, so no commit is cancelled", async () => {
  const { deps: here, store, process } = memoryDeps();
  const there = process();
  const { seen } = await seenGroups(there);
  store.arriving = ({ op }) => {
    if (op !== "commit") return undefined;
    store.arriving = undefined;
    return "conflict";
  };
  const [first] = posts as [(typeof posts)[number]];
  await like(here, first, "contending");

  let marks = 0;
  store.arriving = (request) => {
    if (isMark(request)) marks += 1;
    return undefined;
  };
  store.answering = async ({ op }) => {
    if (op !== "members") return;
    store.answering = undefined;
    await like(there, first, "latest");
  };
  const { markedCount } = await markAllNotificationsRead(here, { ownerId, version: seen });
  expect(markedCount).toBe(notificationCount);
  // One for each page of groups.
  expect(marks).toBe(2);
  const { actorCount } = await inboxOf(here);
  expect(actorCount).toBe(newcomers.length * notificationCount + 2);
});
