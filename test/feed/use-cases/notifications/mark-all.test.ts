/** Tests that calls which mark everything as read take a share each, and hold up nobody's likes. */
import { expect, test } from "vitest";
import {
  markAllNotificationsRead,
  markNotificationUnread,
} from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const caller = asService("blog");
const target = { type: "post", id: "1" };

/** Unread notifications of different kinds, each of one event. */
async function unreadLines(deps: Deps, count: number): Promise<void> {
  const actor = { userId: "bob", displayName: "Bob" };
  for (let i = 1; i <= count; i++) {
    await notify(deps, { eventId: `e${i}`, kind: `kind${i}`, actor, ownerIds: [ownerId], caller });
  }
}

test("a call marks 512 notifications, the next ones the rest; likes come in between", async () => {
  const { deps, process, store } = memoryDeps();
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  await unreadLines(deps, 1_100);
  // While a page is written, a person likes by this process or by another one. The next page is
  // read only once these likes are answered, so one that waited for the call would end the test.
  const servers = [deps, process()];
  const likes: Promise<unknown>[] = [];
  const like = (i: number) => {
    const server = servers[i % servers.length] as Deps;
    return react(server, { target, kind: "like", userId: `u${i}`, displayName: "U" });
  };
  store.arriving = ({ op, writes }) => {
    const isPage = op === "commit" && writes.some(({ ref }) => ref.kind === "readGroup");
    if (isPage && likes.length < 10) likes.push(like(likes.length));
    return undefined;
  };
  const reader: Deps["reader"] = {
    ...deps.reader,
    async unreadGroups(...given) {
      await Promise.all(likes);
      return deps.reader.unreadGroups(...given);
    },
  };
  const markAll = (cursor?: string) =>
    markAllNotificationsRead({ ...deps, reader }, { ownerId, version: 1_100, cursor });
  const first = await markAll();
  expect(likes).toHaveLength(10);
  expect(first).toMatchObject({ markedCount: 512, inbox: { notificationCount: 589 } });
  const second = await markAll(first.cursor);
  expect(second).toMatchObject({ markedCount: 512, inbox: { notificationCount: 77 } });
  // What came in after the version stays unread.
  expect(await markAll(second.cursor)).toMatchObject({
    markedCount: 76,
    inbox: { notificationCount: 1, actorCount: 10 },
    cursor: undefined,
  });
});

test("a notification that becomes unread behind a call is found by the next one", async () => {
  const { deps } = memoryDeps();
  await unreadLines(deps, 600);
  const first = await markAllNotificationsRead(deps, { ownerId, version: 600, cursor: undefined });
  const { items } = await deps.reader.readGroups(ownerId, 0, { size: 1, cursor: undefined });
  const [group] = items;
  if (!group) throw new Error("nothing is read");
  await markNotificationUnread(deps, { ownerId, ...group });
  const { version } = await inboxOf(deps, ownerId);
  const { cursor } = first;
  const rest = await markAllNotificationsRead(deps, { ownerId, version, cursor });
  expect(rest.markedCount + first.markedCount).toBe(601);
  expect(rest.inbox).toMatchObject({ notificationCount: 0, actorCount: 0, closedCount: 0 });
});
