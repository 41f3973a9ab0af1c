/** The use cases that mark notifications as read, unread or seen, or dismiss them. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Instant } from "../../../platform/words/month.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import type { Deps } from "../../ports/deps.ts";
import {
  closedGroupRef,
  closedGroupsRef,
  inboxRef,
  readGroupRef,
  readMarkRef,
  targetRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import { maxClosedGroups, toUnread } from "../../rules/closed-group.ts";
import {
  emptyInbox,
  type Inbox,
  markSeen,
  replaceGroup,
  withReadChange,
} from "../../rules/inbox.ts";
import { isEventKind } from "../../rules/kinds.ts";
import { markRead, needsSplit } from "../../rules/notification.ts";
import { markOf } from "../../rules/reaction.ts";
import type { Target } from "../../rules/target.ts";
import {
  firstVersionOf,
  inboxCountsOf,
  type ReadGroup,
  type UnreadGroup,
} from "../../rules/unread-group.ts";
import { closedRanges, putUnread } from "./closed-groups.ts";
import { inboxOf } from "./inbox.ts";
import type { GroupName, UnreadName } from "./named-groups.ts";

/** The version of the unread count that the owner has seen. */
interface ReadMark extends CallLimits {
  readonly version: number;
}

/**
 * The number of groups that are marked concurrently. Each writes three items, so that the engine
 * can commit all of them by one transaction of up to 100 items.
 */
const pageSize = 32;

interface Marked {
  readonly changed: boolean;
  readonly inbox: Inbox;
}

type MarkDeps = Pick<Deps, "engine" | "reader" | "unreadCounts" | "historyMs">;

/**
 * Marks one group as read up to `version`: that of the `generation`, or without it whichever is
 * unread. Members who joined later stay unread. A version beyond the inbox counts as the latest.
 */
export async function markNotificationRead(
  deps: MarkDeps,
  mark: UnreadName & Partial<GroupName> & ReadMark,
): Promise<Marked> {
  const { ownerId, target, kind } = mark;
  const { closed, ...refs } = refsOf(mark);
  const result = await deps.engine.transact<Marked>({
    key: refs.inbox,
    readSet: Object.values(refs),
    expectAbsent: closed,
    call: mark,
    decide(tx, { wall: now }) {
      const taken = takeSeen(tx, deps, mark, now);
      const { inbox, read } = taken;
      const { generation = 0 } = read ?? {};
      if (read) tx.put(readGroupRef(ownerId, target, kind, generation), read, inbox.version);
      return { changed: read !== undefined, inbox };
    },
  });
  if (result.changed) deps.unreadCounts.publish(ownerId, result.inbox);
  return result;
}

/**
 * Removes a read group, or the members of an unread one up to `version`, who count as read but
 * leave no history. Members who joined later stay unread.
 */
export async function dismissNotification(
  deps: MarkDeps,
  mark: GroupName & ReadMark,
): Promise<Marked> {
  const { ownerId, target, kind, generation } = mark;
  const { closed, ...refs } = refsOf(mark);
  const readRef = readGroupRef(ownerId, target, kind, generation);
  const result = await deps.engine.transact<Marked>({
    key: refs.inbox,
    readSet: [...Object.values(refs), readRef],
    expectAbsent: closed,
    call: mark,
    decide(tx, { wall: now }) {
      const taken = takeSeen(tx, deps, mark, now);
      const { inbox, read } = taken;
      if (read) return { changed: true, inbox };
      const found = tx.get(readRef);
      // An expired one is left to its TTL: nobody sees it any more.
      if (!found || found.expireTime <= now) return { changed: false, inbox };
      tx.delete(readRef);
      const after = withReadChange(inbox);
      tx.put(refs.inbox, after);
      return { changed: true, inbox: after };
    },
  });
  if (result.changed) deps.unreadCounts.publish(ownerId, result.inbox);
  return result;
}

/** The unread group that a call has left, and its target unless it is about none. */
interface MarkedUnread extends Marked {
  readonly group: UnreadGroup;
  readonly target: Target | undefined;
}

/**
 * Makes a read group unread again, as a closed one of the same name. Returns the group, because it
 * may have ended by the time of a read. Refusals: NOTIFICATION_NOT_FOUND, also for one about a
 * deleted target, LIMIT_EXCEEDED for a target of which the owner has `maxClosedGroups`.
 */
export async function markNotificationUnread(
  deps: Pick<Deps, "engine" | "unreadCounts">,
  name: GroupName & CallLimits,
): Promise<MarkedUnread> {
  const { ownerId, target: targetName, kind, generation } = name;
  const { readMark: _, closed, ...refs } = refsOf(name);
  const readRef = readGroupRef(ownerId, targetName, kind, generation);
  const result = await deps.engine.transact<MarkedUnread>({
    key: refs.inbox,
    readSet: [...Object.values(refs), readRef, targetRef(targetName)],
    expectAbsent: closed,
    call: name,
    decide(tx, { wall: now }) {
      const { inbox, group } = readUnread(tx, name);
      const target = tx.get(targetRef(targetName));
      const isDeleted = target?.deleteTime !== undefined;
      if (group && !isDeleted) return { changed: false, inbox, group, target };
      const read = tx.get(readRef);
      if (!read || isDeleted || read.expireTime <= now) {
        throw new DomainError("NOTIFICATION_NOT_FOUND", "there is no such notification");
      }
      if (closedRanges(tx, ownerId, targetName).length >= maxClosedGroups) {
        const text = `an owner has at most ${maxClosedGroups} closed notifications of a target`;
        throw new DomainError("LIMIT_EXCEEDED", text, { limit: String(maxClosedGroups) });
      }
      const version = inbox.version + 1;
      const unread = toUnread(read, { version, now });
      const after = replaceGroup(inbox, undefined, inboxCountsOf(unread));
      tx.delete(readRef);
      tx.put(refs.inbox, after);
      putUnread(tx, ownerId, undefined, unread, version);
      return { changed: true, inbox: after, group: unread, target };
    },
  });
  if (result.changed) deps.unreadCounts.publish(ownerId, result.inbox);
  return result;
}

const refsOf = ({ ownerId, target, kind, generation }: UnreadName & Partial<GroupName>) => ({
  inbox: inboxRef(ownerId),
  group: unreadGroupRef(ownerId, target, kind),
  readMark: readMarkRef(ownerId, target, kind),
  /** The closed group of the generation, and the list of those of the target. */
  closed:
    generation === undefined
      ? []
      : [closedGroupRef(ownerId, target, kind, generation), closedGroupsRef(ownerId, target)],
});

/** The unread group of a name, and its ref: the open one or, if the owner has any, a closed one. */
function readUnread(tx: Transaction, name: UnreadName & Partial<GroupName>) {
  const { ownerId, target, kind, generation } = name;
  const refs = refsOf(name);
  const inbox = tx.get(refs.inbox) ?? emptyInbox;
  const open = tx.get(refs.group);
  if (generation === undefined || open?.generation === generation) {
    return { inbox, group: open, ref: refs.group };
  }
  const ref = closedGroupRef(ownerId, target, kind, generation);
  return { inbox, group: inbox.closedCount > 0 ? tx.get(ref) : undefined, ref };
}

/**
 * Takes the members up to the version of a mark out of the unread group. They are returned as a
 * read group; undefined if there are none.
 */
function takeSeen(
  tx: Transaction,
  { reader, historyMs }: Pick<Deps, "reader" | "historyMs">,
  { version, ...name }: UnreadName & Partial<GroupName> & ReadMark,
  now: Instant,
): { readonly inbox: Inbox; readonly read: ReadGroup | undefined } {
  const refs = refsOf(name);
  const state = readUnread(tx, name);
  const seen = state.group && { ref: state.ref, group: state.group, now };
  const isSplit = seen && needsSplit(seen.group, version);
  const split = isSplit ? tx.lookup(reader.split(seen, version)) : undefined;
  const { inbox, group, read } = markRead(state, version, { now, keptMs: historyMs }, split);
  if (!read) return { inbox, read };
  tx.put(refs.inbox, inbox);
  putUnread(tx, name.ownerId, state.group, group, inbox.version);
  if (!isEventKind(name.kind)) {
    // A read of the open group ends the places of people who have left it. A read of a closed one
    // moves the mark to the end of that group only, because the open group after it stays unread.
    const end = state.group?.closed?.endVersion ?? inbox.version;
    const mark = markOf(tx.get(refs.readMark), read, group ? version : end);
    tx.put(refs.readMark, mark, inbox.version);
  }
  return { inbox, read };
}

/** A call about all notifications of an owner ends after it has listed so many groups. */
export const maxListed = 512;

/** No page is begun later than this before the deadline, so that the answer is there in time. */
export const answerMs = 1_000;

/** The result of one call that marks everything. With a cursor, there may be more to mark. */
interface MarkedAll {
  /** How many groups the call has marked, in whole or in part. */
  readonly markedCount: number;
  readonly inbox: Inbox;
  readonly cursor: string | undefined;
}

/**
 * Marks groups of an owner as read up to `version`, each by its own decision, up to 512 a call;
 * with the cursor of the call before, a further call goes on. The groups are listed by version,
 * oldest first, so that a group which gets a reaction meanwhile is listed again on a later page.
 * Other calls of the owner are decided between the pages. May be repeated. Refusal: INVALID_REQUEST
 * for a bad cursor.
 */
export async function markAllNotificationsRead(
  deps: MarkDeps,
  mark: { readonly ownerId: string; readonly cursor?: string | undefined } & ReadMark,
): Promise<MarkedAll> {
  const { ownerId, deadline = Number.POSITIVE_INFINITY } = mark;
  // Reactions that come in while the groups are marked stay unread.
  const version = Math.min(mark.version, (await inboxOf(deps, ownerId)).version);
  let { cursor } = mark;
  let markedCount = 0;
  let left = maxListed;
  do {
    const page = await deps.reader.unreadGroups(ownerId, false, { size: pageSize, cursor });
    const toMark = page.items.filter((group) => firstVersionOf(group) <= version);
    const results = await Promise.all(
      toMark.map((group) => markListed(deps, group, { ...mark, version })),
    );
    markedCount += results.filter(({ changed }) => changed).length;
    left -= page.items.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0 && performance.now() < deadline - answerMs);
  return { markedCount, inbox: await inboxOf(deps, ownerId), cursor };
}

/**
 * Marks a listed group: of an open one whichever is open by now, or the same one if it was closed
 * meanwhile.
 */
async function markListed(
  deps: MarkDeps,
  { target, kind, generation, closed }: UnreadGroup,
  mark: { readonly ownerId: string } & ReadMark,
): Promise<Marked> {
  const name = { target, kind, ...mark };
  if (!closed) {
    const marked = await markNotificationRead(deps, name);
    if (marked.changed || marked.inbox.closedCount === 0) return marked;
  }
  return markNotificationRead(deps, { ...name, generation });
}

/**
 * Notes that the owner has seen the list at `version`. Nothing becomes read. A version beyond the
 * inbox counts as the latest. Returns the inbox.
 */
export async function markNotificationsSeen(
  deps: Pick<Deps, "engine" | "unreadCounts">,
  mark: { readonly ownerId: string } & ReadMark,
): Promise<Inbox> {
  const { ownerId, version } = mark;
  const { record, isChanged } = await changeRecord(
    deps,
    { ref: inboxRef(ownerId), call: mark },
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
