/** Tests what a member gets of the events that Meguri reports itself. */
import { expect, test } from "vitest";
import { inboxOf, unreadCountOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { notify, notifyMember } from "../../../../src/feed/use-cases/notifications/notify.ts";
import {
  preferencesOf,
  updatePreferences,
} from "../../../../src/feed/use-cases/notifications/preferences.ts";
import { listNotifications } from "../../../../src/feed/use-cases/notifications/queries.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "ann";
const notice = {
  programId: "default",
  userId: ownerId,
  kind: "points-expiring",
  eventId: "x.default.2026-02",
  label: "120",
} as const;
const dayMs = 24 * 3_600_000;
const page = { size: 10, cursor: undefined };

test("a member is notified once, however often and from wherever it is tried", async () => {
  const { deps, process } = memoryDeps();
  const tries = Array.from({ length: 8 }, (_, i) => notifyMember(i % 2 ? deps : process(), notice));
  await Promise.all(tries);
  const { items } = await listNotifications(deps, { ownerId, state: "UNREAD", kinds: [] }, page);
  expect(items).toMatchObject([
    {
      kind: "points-expiring",
      actorCount: 1,
      firstMembers: [{ userId: "", displayName: "120" }],
      target: { type: "meguri", id: "default:ann", ownerId },
    },
  ]);
  const kindCounts = { "~points-expiring": 1 };
  const badge = { notificationCount: 1, actorCount: 1, unseenNotificationCount: 1, kindCounts };
  expect(unreadCountOf(await inboxOf(deps, ownerId))).toEqual({ ...badge, version: 1 });
});

test("a member is notified once of an event whose points have changed since", async () => {
  const { deps, store } = memoryDeps();
  await notifyMember(deps, notice);
  const before = store.dump();
  await notifyMember(deps, { ...notice, label: "80" });
  expect(store.dump()).toEqual(before);
});

test("an event of a service does not take the place of a notice by its id", async () => {
  const { deps } = memoryDeps();
  const target = { type: "post", id: "x" };
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  const { eventId } = notice;
  const actor = { userId: "bob", displayName: "Bob" };
  const comment = { eventId, target, kind: "comment", actor, caller: asService("blog") };
  expect(await notify(deps, comment)).toMatchObject([{ notified: true, replayed: false }]);
  await notifyMember(deps, notice);
  const { items } = await listNotifications(deps, { ownerId, state: "UNREAD", kinds: [] }, page);
  expect(items.map(({ target }) => target?.type)).toEqual(["meguri", "post"]);
});

test("three reserved grants are one line with three events, each with its amount", async () => {
  const { deps } = memoryDeps();
  for (const label of ["100", "50", "10"]) {
    const granted = { ...notice, kind: "points-granted", eventId: `r.default.${label}` } as const;
    await notifyMember(deps, { ...granted, label });
  }
  const { items } = await listNotifications(deps, { ownerId, state: "UNREAD", kinds: [] }, page);
  expect(items).toMatchObject([{ kind: "points-granted", actorCount: 1, eventCount: 3 }]);
  expect(items[0]?.latestEvents.map(({ displayName }) => displayName)).toEqual(["10", "50", "100"]);
});

test("an event is not added to an unread line that is older than 30 days", async () => {
  const { deps, clock } = memoryDeps();
  const grant = (label: string) =>
    notifyMember(deps, { ...notice, kind: "points-granted", eventId: `r.default.${label}`, label });
  const list = async () => {
    const { items } = await listNotifications(deps, { ownerId, state: "UNREAD", kinds: [] }, page);
    return items.map(({ latestEvents }) => latestEvents.map(({ displayName }) => displayName));
  };
  await grant("100");
  clock.time += 30 * dayMs;
  await grant("50");
  expect(await list()).toEqual([["50", "100"]]);
  clock.time += 336 * dayMs;
  await grant("10");
  expect(await list()).toEqual([["10"], ["50", "100"]]);
});

test("a member who has muted the kind gets no line, then or after unmuting", async () => {
  const { deps } = memoryDeps();
  const mute = async (mutedEventKinds: string[]) => {
    const { etag } = await preferencesOf(deps, ownerId);
    await updatePreferences(deps, { ownerId, changes: { mutedEventKinds }, etag });
  };
  await mute(["points-expiring"]);
  await notifyMember(deps, notice);
  await mute([]);
  await notifyMember(deps, notice);
  expect((await listNotifications(deps, { ownerId, state: "ALL", kinds: [] }, page)).items).toEqual(
    [],
  );
  const granted = { ...notice, kind: "points-granted", eventId: "r.default.r1" } as const;
  await notifyMember(deps, granted);
  const { items } = await listNotifications(deps, { ownerId, state: "ALL", kinds: [] }, page);
  expect(items.map(({ kind }) => kind)).toEqual(["points-granted"]);
});
