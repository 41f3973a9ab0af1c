/** Tests that a muted person is found by every process, and never taken for another person. */
import { expect, test } from "vitest";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { setPersonMuted } from "../../../../src/feed/use-cases/notifications/muted-people.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
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

test("unmuting a person leaves another one muted whose hash is the same", async () => {
  // The shortest pair of such names; the inbox has three characters of each hash.
  const [one, other] = ["user-577", "user-804"];
  const { deps } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  for (const userId of [one, other]) await setPersonMuted(deps, { ownerId, userId, muted: true });
  const { mutedPeople } = await inboxOf(deps, ownerId);
  expect(mutedPeople[0]).toBe(mutedPeople[1]);
  await setPersonMuted(deps, { ownerId, userId: one, muted: false });
  const likeOf = (userId: string) => react(deps, { target, kind: "like", userId, displayName: "" });
  await likeOf(other);
  expect(await inboxOf(deps, ownerId)).toMatchObject({ notificationCount: 0, actorCount: 0 });
  await likeOf(one);
  expect(await inboxOf(deps, ownerId)).toMatchObject({ notificationCount: 1, actorCount: 1 });
});
