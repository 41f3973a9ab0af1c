/** What owners do with their notifications, so that each moves through all of its states. */
import { inboxOf } from "../../../src/feed/use-cases/notifications/inbox.ts";
import { listNotifications } from "../../../src/feed/use-cases/notifications/queries.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { answerTo } from "../models/reactions-use-cases.ts";

const page = { size: 20, cursor: undefined };

/** Reads, dismisses or marks as unread a notification of an owner, or blocks one of its people. */
export async function actOnInbox(deps: Deps, random: () => number, ownerId: string): Promise<void> {
  const upTo = (limit: number) => Math.floor(random() * limit);
  const { version: newest } = await inboxOf(deps, ownerId);
  const filter = { ownerId, state: "ALL", kinds: [] } as const;
  const { items } = await listNotifications(deps, filter, page);
  const one = items[upTo(items.length)];
  if (!one) return;
  const { target, kind, generation } = one.id;
  const name = { target, kind, generation };
  const version = Math.max(1, newest - (random() < 0.5 ? 0 : upTo(4)));
  const drawn = random();
  if (drawn < 0.05) {
    const userId = one.latestMembers[0]?.userId;
    if (userId) await answerTo(deps, ownerId, { op: "block", userId });
  } else if (drawn < 0.35) {
    await answerTo(deps, ownerId, { op: "dismiss", ...name, version });
  } else if (one.readTime === undefined) {
    await answerTo(deps, ownerId, { op: "read", ...name, version });
  } else {
    await answerTo(deps, ownerId, { op: "unread", ...name });
  }
}
