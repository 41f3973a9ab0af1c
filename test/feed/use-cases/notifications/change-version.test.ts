/** Tests which calls change a notification of an owner, so that open streams send the count. */
import { expect, test } from "vitest";
import { badgeOf } from "../../../../src/feed/rules/inbox.ts";
import { eventKind } from "../../../../src/feed/rules/kinds.ts";
import { blockPerson } from "../../../../src/feed/use-cases/notifications/block-person.ts";
import {
  dismissNotification,
  markNotificationRead,
  markNotificationsSeen,
  markNotificationUnread,
} from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { setPersonMuted } from "../../../../src/feed/use-cases/notifications/muted-people.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import {
  preferencesOf,
  updatePreferences,
} from "../../../../src/feed/use-cases/notifications/preferences.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import {
  registerTarget,
  setTargetMuted,
} from "../../../../src/feed/use-cases/reactions/targets.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const target = { type: "post", id: "1" };
const kind = eventKind("comment");
const caller = asService("blog");

test("those of unread and of read notifications, and no others", async () => {
  const { deps } = memoryDeps();
  const published: number[] = [];
  const unreadCounts: typeof deps.unreadCounts = {
    ...deps.unreadCounts,
    publish: (_, { version }) => void published.push(version),
  };
  const watched = { ...deps, unreadCounts };
  /** The version of the inbox and that of its last change, which were published. */
  const after = async (change: Promise<unknown>) => {
    await change;
    const { version, changeVersion } = await inboxOf(deps, ownerId);
    expect(published.at(-1)).toBe(version);
    return [version, changeVersion];
  };
  const report = (eventId: string, userId: string) =>
    notify(watched, {
      ...{ eventId, target, caller },
      kind: "comment",
      actor: { userId, displayName: userId },
    });
  const name = { ownerId, target, kind, generation: 1 };
  const like = (userId: string) =>
    react(watched, { target, kind: "like", userId, displayName: userId });

  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  expect(await after(report("e1", "bob"))).toEqual([1, 1]);
  expect(await after(report("e2", "bob"))).toEqual([2, 2]);
  expect(await after(report("e3", "eve"))).toEqual([3, 3]);
  expect(await after(report("e4", ownerId))).toEqual([4, 3]);
  expect(await after(like(ownerId))).toEqual([5, 3]);
  expect(await after(markNotificationsSeen(watched, { ownerId, version: 5 }))).toEqual([6, 6]);
  expect(await after(markNotificationRead(watched, { ...name, version: 6 }))).toEqual([7, 7]);
  const retraction = { target, caller };
  expect(await after(retractEvent(watched, { ...retraction, eventId: "e4" }))).toEqual([8, 7]);
  expect(await after(retractEvent(watched, { ...retraction, eventId: "e1" }))).toEqual([9, 9]);
  expect(await after(blockPerson(watched, { ownerId, userId: "eve" }))).toEqual([10, 10]);
  expect(await after(markNotificationUnread(watched, name))).toEqual([11, 11]);
  expect(await after(markNotificationRead(watched, { ...name, version: 11 }))).toEqual([12, 12]);
  const dismissal = { ...name, version: 12 };
  expect(await after(dismissNotification(watched, dismissal))).toEqual([13, 13]);
  expect(await after(dismissNotification(watched, dismissal))).toEqual([13, 13]);
  // Its event is in no notification any more.
  expect(await after(retractEvent(watched, { ...retraction, eventId: "e2" }))).toEqual([14, 13]);
});

test("a mute, and its end, takes no version and changes no count", async () => {
  const { deps } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  for (const userId of ["bob", "eve"]) {
    await react(deps, { target, kind: "like", userId, displayName: userId });
  }
  const count = async () => {
    const inbox = await inboxOf(deps, ownerId);
    const { version, changeVersion } = inbox;
    return { version, changeVersion, ...badgeOf(inbox) };
  };
  const before = await count();
  expect(before).toMatchObject({ version: 2, changeVersion: 2, actorCount: 2 });
  const update = async (changes: Parameters<typeof updatePreferences>[1]["changes"]) => {
    const { etag } = await preferencesOf(deps, ownerId);
    return updatePreferences(deps, { ownerId, changes, etag });
  };
  for (const muted of [true, false]) {
    await setTargetMuted(deps, { ownerId, target, muted });
    expect(await count()).toEqual(before);
    expect(await setPersonMuted(deps, { ownerId, userId: "eve", muted })).toBe(true);
    expect(await count()).toEqual(before);
    const mutedKinds = muted ? ["like"] : [];
    await update({ allMuted: muted, mutedKinds, mutedEventKinds: mutedKinds });
    expect(await count()).toEqual(before);
  }
});
