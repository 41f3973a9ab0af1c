/** Tests that muted people are found by a process that has not read their records yet. */
import { expect, test } from "vitest";
import { inboxOf } from "../../../src/app/notifications/inbox.ts";
import { setPersonMuted } from "../../../src/app/notifications/muted-people.ts";
import { notify } from "../../../src/app/notifications/notify.ts";
import { react } from "../../../src/app/reactions/commands.ts";
import { registerTarget } from "../../../src/app/reactions/targets.ts";
import { noCaller } from "../../../src/domain/caller.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

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
  expect(await notify(process(), event)).toEqual({ notified: false, replayed: false });
  const inbox = await inboxOf(deps, ownerId);
  expect(inbox).toMatchObject({ version: 2, notificationCount: 0, peopleCount: 0 });
});
