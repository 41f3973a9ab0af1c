/** Tests that a muted person is found by every process, and never taken for another person. */
import { expect, test } from "vitest";
import { inboxRef } from "../../../../src/feed/ports/records.ts";
import { nobodyMuted } from "../../../../src/feed/rules/muted-people.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { setPersonMuted } from "../../../../src/feed/use-cases/notifications/muted-people.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { noCaller } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const target = { type: "comment", id: "1" };
const actor = { userId: "muted", displayName: "Muted" };

test("another process counts a muted person's like and event, without a notification", async () => {
  const { deps, store, process } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  await setPersonMuted(deps, { ownerId, userId: actor.userId, muted: true });
  store.resetStats();
  const like = await react(process(), { target, kind: "like", ...actor });
  expect(like).toEqual({ changed: true, reactionCount: 1 });
  // The first commit finds the record of the muted person.
  expect(store.stats.commits).toBe(2);
  const event = { eventId: "e-1", target, kind: "comment", actor, caller: noCaller };
  expect(await notify(process(), event)).toMatchObject([{ notified: false, replayed: false }]);
  const inbox = await inboxOf(deps, ownerId);
  expect(inbox).toMatchObject({ version: 2, notificationCount: 0, actorCount: 0 });
});

/** People with the same hash. */
const alike = ["user-36", "user-288", "user-348"] as const;

test("a like costs a condition only by a person whose hash is that of a muted one", async () => {
  const { deps, store, process } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  await mute(deps, true, alike[0]);
  const costOf = async (userId: string) => {
    store.resetStats();
    await likeOf(process(), userId);
    return { ...store.stats };
  };
  // The first one begins the notification.
  await costOf("user-1");
  const other = await costOf("user-2");
  expect(await costOf("user-3")).toEqual(other);
  expect(await costOf(alike[1])).toEqual({ ...other, writtenItems: other.writtenItems + 1 });
});

test("unmuting a person leaves others muted whose hash is the same", async () => {
  const { deps } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  await mute(deps, true, ...alike);
  const notifiedOf = async () => {
    const { actorCount } = await inboxOf(deps, ownerId);
    for (const userId of alike) await likeOf(deps, userId);
    const now = await inboxOf(deps, ownerId);
    for (const userId of alike) await unreact(deps, { target, kind: "like", userId });
    return now.actorCount - actorCount;
  };
  expect(await notifiedOf()).toBe(0);
  await mute(deps, false, alike[1]);
  expect(await notifiedOf()).toBe(1);
  await mute(deps, false, alike[0]);
  expect(await notifiedOf()).toBe(2);
  await mute(deps, true, alike[1]);
  expect(await notifiedOf()).toBe(1);
  await mute(deps, false, alike[1], alike[2]);
  expect(await notifiedOf()).toBe(3);
});

test("two processes mute and unmute people of one hash at once", async () => {
  const { deps, store, process } = memoryDeps();
  const [here, there] = [process(), process()];
  const [one, other, third] = alike;
  await mute(deps, true, one);
  const only = await inboxOf(deps, ownerId);
  for (let i = 0; i < 5; i++) {
    await Promise.all([mute(here, true, other), mute(there, false, one)]);
    await Promise.all([mute(here, true, one, third), mute(there, false, other)]);
    expect((await inboxOf(deps, ownerId)).mutedPeople.count).toBe(2);
    await mute(there, false, third);
    expect((await inboxOf(deps, ownerId)).mutedPeople).toEqual(only.mutedPeople);
  }
  expect(store.stored().map(({ ref }) => ref.kind)).not.toContain("mutedHash");
});

test("an inbox has the hashes of those who are muted, whatever was muted before", async () => {
  const { deps, store } = memoryDeps();
  const people = Array.from({ length: 400 }, (_, i) => `user-${i}`);
  const [some, rest] = [people.slice(0, 150), people.slice(150)];
  await mute(deps, true, ...rest, ...some);
  await mute(deps, false, ...rest);
  const fresh = memoryDeps();
  await mute(fresh.deps, true, ...some);
  const { mutedPeople } = await inboxOf(deps, ownerId);
  expect(mutedPeople).toEqual((await inboxOf(fresh.deps, ownerId)).mutedPeople);
  expect(mutedPeople.count).toBe(150);
  await mute(deps, false, ...some);
  expect((await inboxOf(deps, ownerId)).mutedPeople).toEqual(nobodyMuted);
  expect(store.stored().map(({ ref }) => ref.kind)).toEqual(["inbox"]);
});

test("an owner mutes 10,000 people", async () => {
  const { deps, store, process } = memoryDeps();
  await mute(deps, true, "a");
  const inbox = await inboxOf(deps, ownerId);
  store.force(inboxRef(ownerId), { ...inbox, mutedPeople: { ...inbox.mutedPeople, count: 9_999 } });
  const here = process();
  await mute(here, true, "b");
  await expect(mute(here, true, "c")).rejects.toMatchObject({
    reason: "LIMIT_EXCEEDED",
    metadata: { limit: "10000" },
  });
  // A repeated mute is none more, and an end makes room.
  await mute(here, true, "b");
  await mute(here, false, "a");
  await mute(here, true, "c");
});

const likeOf = (deps: Deps, userId: string) =>
  react(deps, { target, kind: "like", userId, displayName: "" });

const mute = (deps: Pick<Deps, "engine">, muted: boolean, ...userIds: readonly string[]) =>
  Promise.all(userIds.map((userId) => setPersonMuted(deps, { ownerId, userId, muted })));
