import { checkVersion, emptyInbox, type Inbox, markRead } from "../../domain/notification.ts";
import type { TargetName } from "../../domain/reaction.ts";
import { type Deps, groupRef, historyRef, inboxRef } from "../ports/deps.ts";

/** Names one owner's unread group. */
export interface NotificationName {
  readonly owner: string;
  readonly target: TargetName;
  readonly kind: string;
}

/** What an owner has seen, as a version of the unread count, and how long the caller waits. */
export interface Seen {
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
  deps: Deps,
  { owner, target, kind, version, deadline }: NotificationName & Seen,
): Promise<{ changed: boolean; inbox: Inbox }> {
  const refs = { inbox: inboxRef(owner), group: groupRef(owner, target, kind) };
  const result = await deps.engine.run({
    key: refs.inbox,
    reads: [refs.inbox, refs.group],
    absent: [],
    deadline,
    decide(view, { wall }) {
      const scene = { inbox: view.get(refs.inbox) ?? emptyInbox, group: view.get(refs.group) };
      const kept = { now: wall, keptMs: deps.historyMs };
      const { inbox, group, read } = markRead(scene, version, kept, (range) =>
        view.members({ target, kind, ...range }),
      );
      if (!read) return { changed: false, inbox };
      view.put(refs.inbox, inbox);
      if (group) view.put(refs.group, group);
      else view.delete(refs.group);
      view.put(historyRef(owner, read), read);
      return { changed: true, inbox };
    },
  });
  if (result.changed) deps.watches.saw(owner, result.inbox);
  return result;
}

/**
 * Marks every group as above. Each is done by itself, in the order of the latest numbers, so that
 * one which gets a reaction meanwhile is met again; cut short, the same call goes on. Tells how
 * many were marked, and what is unread now.
 */
export async function markAllNotificationsRead(
  deps: Deps,
  { owner, version, deadline }: { readonly owner: string } & Seen,
): Promise<{ marked: number; inbox: Inbox }> {
  checkVersion(await inboxOf(deps, owner), version);
  const seen = { version, deadline };
  let marked = 0;
  let cursor: string | undefined;
  do {
    const page = await deps.reader.unread(owner, false, { size: markedAtOnce, cursor });
    const wanted = page.items.filter(({ from }) => from <= version);
    const results = await Promise.all(
      wanted.map(({ target, kind }) =>
        markNotificationRead(deps, { owner, target, kind, ...seen }),
      ),
    );
    marked += results.filter(({ changed }) => changed).length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { marked, inbox: await inboxOf(deps, owner) };
}

/** What is unread, with its version: that of zeros is 0. */
export async function inboxOf({ reader }: Deps, owner: string): Promise<Inbox> {
  return (await reader.get(inboxRef(owner)))?.value ?? emptyInbox;
}
