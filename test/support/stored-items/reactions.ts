/** Calls that store targets, reactions, events, inboxes, unread and read groups, and mutes. */
import {
  dismissNotification,
  markAllNotificationsRead,
  markNotificationRead,
  markNotificationsSeen,
  markNotificationUnread,
} from "../../../src/feed/use-cases/notifications/commands.ts";
import { setPersonMuted } from "../../../src/feed/use-cases/notifications/muted-people.ts";
import { notify } from "../../../src/feed/use-cases/notifications/notify.ts";
import { updatePreferences } from "../../../src/feed/use-cases/notifications/preferences.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { endPurge } from "../../../src/feed/use-cases/reactions/purge-target.ts";
import {
  deleteTarget,
  registerTarget,
  setTargetMuted,
} from "../../../src/feed/use-cases/reactions/targets.ts";
import { shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

const ownerId = "olga";
const target = { type: "post", id: "p-1" };
const like = { target, kind: "like" };
const personOf = (userId: string) => ({ userId, displayName: `Mx ${userId.toUpperCase()}` });

export async function storeReactions({ deps, step }: Recorder): Promise<void> {
  await step("register a target", () =>
    registerTarget(deps, { target, ownerId, title: "A post", link: "https://example.com/p-1" }),
  );
  for (const userId of ["ann", "bo", "cy", "di", "ed", "fay"]) {
    await step(`${userId} likes it`, () => react(deps, { ...like, ...personOf(userId) }));
  }
  await step("the owner likes it, which notifies nobody", () =>
    react(deps, { ...like, ...personOf(ownerId) }),
  );
  await step("a person who is shown takes a like back", () =>
    unreact(deps, { ...like, userId: "ann" }),
  );
  await step("see the list", () => markNotificationsSeen(deps, { ownerId, version: 5 }));
  await step("read a part of the likes", () =>
    markNotificationRead(deps, { ownerId, ...like, version: 3 }),
  );
  await step("a person whose like is read takes it back", () =>
    unreact(deps, { ...like, userId: "bo" }),
  );
  await step("the person likes it once more, in the cool-down", () =>
    react(deps, { ...like, ...personOf("bo"), coolDownMs: 86_400_000 }),
  );
  await step("replace a like by another kind", () =>
    react(deps, {
      ...{ target, kind: "wow", ...personOf("cy") },
      ...{ exclusive: true, coolDownMs: 86_400_000 },
    }),
  );
}

export async function storeEventsAndMutes({ deps, step }: Recorder): Promise<void> {
  const comment = { target, kind: "comment", caller: shop };
  await step("notify of an event", () =>
    notify(deps, { ...comment, eventId: "comment-1", actor: personOf("gus") }),
  );
  await step("notify of an event without an actor", () =>
    notify(deps, { ...comment, eventId: "c-2", actor: { userId: "", displayName: "3 comments" } }),
  );
  await step("mute a person", () => setPersonMuted(deps, { ownerId, userId: "hal", muted: true }));
  await step("notify of an event of a muted person", () =>
    notify(deps, { ...comment, eventId: "comment-3", actor: personOf("hal") }),
  );
  // The hash of this person is that of the other one.
  const alike = { ownerId, userId: "hal-892" };
  await step("mute a person of the same hash", () =>
    setPersonMuted(deps, { ...alike, muted: true }),
  );
  await step("unmute the person", () =>
    setPersonMuted(deps, { ownerId, userId: "hal", muted: false }),
  );
  const read = { ownerId, ...like, generation: 1 };
  await step("mark read likes as unread again", () => markNotificationUnread(deps, read));
  const old = { regroupAfterMs: 1_000, ...personOf("hal") };
  await step("like it long after the first of the likes", () => react(deps, { ...like, ...old }));
  await step("a person in the closed notification takes a like back", () =>
    unreact(deps, { ...like, userId: "di" }),
  );
  await step("dismiss the likes that are unread again", () =>
    dismissNotification(deps, { ...read, version: 1_000 }),
  );
  await step("mute everything and a kind", () =>
    updatePreferences(deps, {
      ownerId,
      changes: { allMuted: true, mutedKinds: ["wow"], mutedEventKinds: ["comment"] },
      etag: "",
    }),
  );
  await step("mute a target", () => setTargetMuted(deps, { ownerId, target, muted: true }));
  await step("read all but the latest", () =>
    markAllNotificationsRead(deps, { ownerId, version: 12 }),
  );
  await step("delete a target with unread groups", () => deleteTarget(deps, { target }));
  await step("end its purge", () => endPurge(deps, target));
}
