/** The use cases that mark notifications as read or seen. */
import { emptyInbox, type Inbox, markSeen } from "../../domain/inbox.ts";
import type { StoredKind } from "../../domain/kinds.ts";
import { markRead, needsSplit } from "../../domain/notification.ts";
import type { TargetName } from "../../domain/target.ts";
import { firstVersionOf, versionOf } from "../../domain/unread-group.ts";
import type { Deps } from "../ports/deps.ts";
import { Missing } from "../ports/engine.ts";
import { allPages } from "../ports/pages.ts";
import { inboxRef, readGroupRef, unreadGroupRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";
import { inboxOf } from "./inbox.ts";
import { lookUpSplit } from "./member-lookups.ts";

/** Names one owner's unread group. */
export interface UnreadName {
  readonly ownerId: string;
  readonly target: TargetName;
  readonly kind: StoredKind;
}

/** The version of the unread count that the owner has seen, and the deadline of the caller. */
interface ReadMark {
  readonly version: number;
  readonly deadline?: number | undefined;
}

/**
 * The number of groups that are marked concurrently. Each writes two items, so that the engine can
 * commit all of them by one transaction of up to 100 items.
 */
const pageSize = 48;

/**
 * Marks one group as read up to `version`. Members who joined later stay unread. A version beyond
 * the inbox counts as the latest.
 */
export async function markNotificationRead(
  deps: Pick<Deps, "engine" | "reader" | "unreadCounts" | "historyMs">,
  { ownerId, target, kind, version, deadline }: UnreadName & ReadMark,
): Promise<{ changed: boolean; inbox: Inbox }> {
  const refs = { inbox: inboxRef(ownerId), group: unreadGroupRef(ownerId, target, kind) };
  const result = await deps.engine.transact({
    key: refs.inbox,
    readSet: [refs.inbox, refs.group],
    expectAbsent: [],
    deadline,
    decide(tx, { wall: now }) {
      const state = { inbox: tx.get(refs.inbox) ?? emptyInbox, group: tx.get(refs.group) };
      const { group: found } = state;
      const looked = found && { reader: deps.reader, ref: refs.group, group: found, now };
      const isSplit = looked && needsSplit(looked.group, version);
      const split = isSplit ? tx.lookup(lookUpSplit(looked, version)) : undefined;
      if (split instanceof Missing) return split;
      const kept = { now, keptMs: deps.historyMs };
      const { inbox, group, read } = markRead(state, version, kept, split);
      if (!read) return { changed: false, inbox };
      tx.put(refs.inbox, inbox);
      if (group) tx.put(refs.group, group, versionOf(group));
      else tx.delete(refs.group);
      tx.put(readGroupRef(ownerId, versionOf(read), target, kind), read);
      return { changed: true, inbox };
    },
  });
  if (result.changed) deps.unreadCounts.publish(ownerId, result.inbox);
  return result;
}

/**
 * Marks every group of an owner as read up to `version`, each by its own decision. The groups are
 * read by version, oldest first, so that a group which gets a reaction meanwhile is read again on a
 * later page. After an interruption the same call marks the remaining groups. Returns the number of
 * marked groups and the inbox.
 */
export async function markAllNotificationsRead(
  deps: Pick<Deps, "engine" | "reader" | "unreadCounts" | "historyMs">,
  { ownerId, version, deadline }: { readonly ownerId: string } & ReadMark,
): Promise<{ markedCount: number; inbox: Inbox }> {
  // Reactions that come in while the groups are marked stay unread.
  const upTo = Math.min(version, (await inboxOf(deps, ownerId)).version);
  let markedCount = 0;
  const pages = allPages(pageSize, (page) => deps.reader.unreadGroups(ownerId, false, page));
  for await (const groups of pages) {
    const toMark = groups.filter((group) => firstVersionOf(group) <= upTo);
    const results = await Promise.all(
      toMark.map(({ target, kind }) =>
        markNotificationRead(deps, { ownerId, target, kind, version: upTo, deadline }),
      ),
    );
    markedCount += results.filter(({ changed }) => changed).length;
  }
  return { markedCount, inbox: await inboxOf(deps, ownerId) };
}

/**
 * Notes that the owner has seen the list at `version`. Nothing becomes read. A version beyond the
 * inbox counts as the latest. Returns the inbox.
 */
export async function markNotificationsSeen(
  deps: Pick<Deps, "engine" | "unreadCounts">,
  { ownerId, version, deadline }: { readonly ownerId: string } & ReadMark,
): Promise<Inbox> {
  const { record, isChanged } = await changeRecord(
    deps,
    { ref: inboxRef(ownerId), deadline },
    (inbox) => {
      const seen = markSeen(inbox ?? emptyInbox, version);
      // An owner without an inbox gets none by this.
      return seen === emptyInbox ? inbox : seen;
    },
  );
  const inbox = record ?? emptyInbox;
  if (isChanged) deps.unreadCounts.publish(ownerId, inbox);
  return inbox;
}
