import { checkVersion, emptyInbox, type Inbox, markRead } from "../../domain/notification.ts";
import type { TargetName } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import { inboxRef, readGroupRef, unreadGroupRef } from "../ports/records.ts";

/** Names one owner's unread group. */
export interface NotificationName {
  readonly ownerId: string;
  readonly target: TargetName;
  readonly kind: string;
}

/** What an owner has seen, as a version of the unread count, and how long the caller waits. */
interface ReadMark {
  readonly version: number;
  readonly deadline?: number | undefined;
}

/** How many groups are marked side by side: with two items each they share one transaction. */
const markedAtOnce = 48;

/**
 * Marks one group as read as far as `version` has shown it; who came later stays unread. Refusal:
 * INVALID_REQUEST for a version that is yet to come.
 */
export async function markNotificationRead(
  deps: Pick<Deps, "engine" | "unreadCounts" | "historyMs">,
  { ownerId, target, kind, version, deadline }: NotificationName & ReadMark,
): Promise<{ changed: boolean; inbox: Inbox }> {
  const refs = { inbox: inboxRef(ownerId), group: unreadGroupRef(ownerId, target, kind) };
  const result = await deps.engine.transact({
    key: refs.inbox,
    readSet: [refs.inbox, refs.group],
    expectAbsent: [],
    deadline,
    decide(tx, { wall }) {
      const state = { inbox: tx.get(refs.inbox) ?? emptyInbox, group: tx.get(refs.group) };
      const kept = { now: wall, keptMs: deps.historyMs };
      const { inbox, group, read } = markRead(state, version, kept, (range) =>
        tx.groupMembers({ target, kind, ...range }),
      );
      if (!read) return { changed: false, inbox };
      tx.put(refs.inbox, inbox);
      if (group) tx.put(refs.group, group);
      else tx.delete(refs.group);
      tx.put(readGroupRef(ownerId, read), read);
      return { changed: true, inbox };
    },
  });
  if (result.changed) deps.unreadCounts.publish(ownerId, result.inbox);
  return result;
}

/**
 * Marks every group as above. Each is done by itself, in the order of the latest numbers, so that
 * one which gets a reaction meanwhile is met again; cut short, the same call goes on. Tells how
 * many were marked, and what is unread now.
 */
export async function markAllNotificationsRead(
  deps: Pick<Deps, "engine" | "reader" | "unreadCounts" | "historyMs">,
  { ownerId, version, deadline }: { readonly ownerId: string } & ReadMark,
): Promise<{ markedCount: number; inbox: Inbox }> {
  checkVersion(await inboxOf(deps, ownerId), version);
  const seen = { version, deadline };
  let markedCount = 0;
  const pages = allPages(markedAtOnce, (page) => deps.reader.unreadGroups(ownerId, false, page));
  for await (const groups of pages) {
    const wanted = groups.filter(({ firstVersion }) => firstVersion <= version);
    const results = await Promise.all(
      wanted.map(({ target, kind }) =>
        markNotificationRead(deps, { ownerId, target, kind, ...seen }),
      ),
    );
    markedCount += results.filter(({ changed }) => changed).length;
  }
  return { markedCount, inbox: await inboxOf(deps, ownerId) };
}

/** What is unread, with its version: that of zeros is 0. */
export async function inboxOf({ reader }: Pick<Deps, "reader">, ownerId: string): Promise<Inbox> {
  return (await reader.get(inboxRef(ownerId)))?.value ?? emptyInbox;
}
