/** Likes, events and marks during an upgrade, under a stream that has to show each of them once. */
import type { Meguri } from "@meguri/client";
import { expect } from "vitest";
import type { UnreadCount } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { patience } from "../fixtures/waiting.ts";

/** What an owner's stream has shown, and what there is in the end. */
interface Watched {
  readonly ownerId: string;
  readonly targetName: { readonly type: string; readonly id: string };
  readonly shown: readonly UnreadCount[];
  readonly peopleCount: number;
  readonly fans: ReadonlySet<string>;
}

/**
 * Likes a target as one person after the other, each when the last change is shown. Some take it
 * back, one comments, and the owner reads now and then.
 */
export async function callLikes(
  client: Meguri,
  name: string,
  isOver: () => boolean,
): Promise<Watched> {
  const { reactions, notifications } = client;
  const ownerId = `owner-${name}`;
  const targetName = { type: "post", id: name };
  await reactions.registerTarget({ targetName, ownerId });
  const shown: UnreadCount[] = [];
  const fans = new Set<string>();
  /** Who is counted: the people of the unread notifications. */
  const people = new Set<string>();
  const controller = new AbortController();
  const watching = (async () => {
    const { signal } = controller;
    for await (const { unreadCount } of client.watchUnreadCounts([{ ownerId }], { signal })) {
      if (unreadCount) shown.push(unreadCount);
    }
  })().catch((error: unknown) => error);
  const whenShown = () =>
    expect.poll(() => shown.at(-1)?.actorCount, patience).toBe(BigInt(people.size));
  await whenShown();
  for (let n = 0; !isOver(); n++) {
    const userId = `fan-${n}`;
    await reactions.react({ targetName, userId, displayName: "Fan" });
    fans.add(userId);
    people.add(`like ${userId}`);
    await whenShown();
    if (n % 3 === 1) {
      await reactions.unreact({ targetName, userId });
      fans.delete(userId);
      people.delete(`like ${userId}`);
      await whenShown();
    }
    if (n % 4 === 2) {
      const comment = { targetName, kind: "comment", userId: "gus", displayName: "Gus" };
      await notifications.notify({ ...comment, eventId: `${name}-${n}` });
      people.add("comment gus");
      await whenShown();
    }
    if (n % 5 === 4) {
      // Not that of the stream, which shows no event of a person who is counted already.
      const { unreadCount } = await notifications.getUnreadCount({ ownerId });
      const version = unreadCount?.version ?? 0n;
      await notifications.markAllNotificationsRead({ ownerId, version });
      people.clear();
      await whenShown();
    }
  }
  controller.abort();
  await watching;
  return { ownerId, targetName, shown, peopleCount: people.size, fans };
}

/** No version was shown twice or late, and the likes are those of the people who like it. */
export async function checkLikes(client: Meguri, watched: Watched): Promise<void> {
  const versions = watched.shown.map(({ version }) => version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => Number(a - b)));
  const { ownerId, targetName, peopleCount } = watched;
  const { unreadCount } = await client.notifications.getUnreadCount({ ownerId });
  expect(unreadCount?.actorCount).toBe(BigInt(peopleCount));
  const found: string[] = [];
  let pageToken = "";
  do {
    const page = await client.reactions.listTargetReactions({ targetName, pageToken });
    found.push(...page.reactions.map(({ userId }) => userId));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(found.toSorted()).toEqual([...watched.fans].toSorted());
}
