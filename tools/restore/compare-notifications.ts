/** Compares unread notifications with their members, event ids with events, inboxes with both. */

import pLimit from "p-limit";
import {
  closedGroupsRef,
  inboxRef,
  ownerOfGroup,
  targetRef,
} from "../../src/feed/ports/records.ts";
import { eventKnownMs } from "../../src/feed/rules/event.ts";
import { emptyInbox, type Inbox, replaceGroup } from "../../src/feed/rules/inbox.ts";
import { isEventKind, kindName } from "../../src/feed/rules/kinds.ts";
import { isDeleted } from "../../src/feed/rules/reaction.ts";
import {
  inboxCountsOf,
  type Member,
  type UnreadGroup,
  versionOf,
} from "../../src/feed/rules/unread-group.ts";
import { putUnread, refOfGroup } from "../../src/feed/use-cases/notifications/closed-groups.ts";
import { eventAt } from "../../src/feed/use-cases/notifications/event-retraction.ts";
import { allPages } from "../../src/platform/ports/pages.ts";
import type { Ref } from "../../src/platform/ports/records.ts";
import type { Instant } from "../../src/platform/words/month.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import type { Scanned } from "../../src/store/scans.ts";
import { type CompareDeps, found } from "./findings.ts";
import { isSameGroup, rebuildGroup, withMembersOf } from "./rebuild-group.ts";
import { ofKind, scanTable } from "./scan-table.ts";

/** The number of groups of one read. */
const pageSize = 500;

/** This many events are read at a time. */
const inTurn = pLimit(16);

/** Compares all unread notifications and event ids, and after them the inboxes. */
export async function compareNotifications(deps: CompareDeps): Promise<void> {
  const { wall } = await deps.clock.now();
  await scanTable(deps, ["unreadGroup", "notifiedEvent"], async (records) => {
    await compareGroups(deps, ofKind(records, "unreadGroup"), wall);
    await compareEvents(deps, ofKind(records, "notifiedEvent"), wall);
  });
  await scanTable(deps, ["inbox"], async (records) => {
    for (const { id, value } of records) await compareInbox(deps, id, value);
  });
}

async function compareGroups(
  deps: CompareDeps,
  records: readonly Scanned<"unreadGroup">[],
  now: Instant,
): Promise<void> {
  const targets = await deps.reader.many(records.map(({ value }) => targetRef(value.target)));
  for (const [i, ref] of records.entries()) {
    const { value: group } = ref;
    // Of a read group that is unread again, and of old events, the members are not all stored.
    const began = (group.firstMembers[0] as Member).createTime;
    const isOld = isEventKind(group.kind) && began + eventKnownMs(deps.historyMs) < now;
    if (group.closed?.wasRead || isOld) continue;
    const ownerId = ownerOfGroup(ref);
    const endVersion = group.closed?.endVersion;
    const rebuilt = isDeleted(targets[i])
      ? undefined
      : await rebuildGroup(deps.reader, { ...group, ownerId, endVersion });
    if (rebuilt && isSameGroup(group, rebuilt)) continue;
    const { kind, target, memberCount } = group;
    const name = `${ownerId} ${kindName(kind)} ${target.type}/${target.id}`;
    const detail = `${quantity(rebuilt?.memberCount ?? 0, "member")}, not ${memberCount}`;
    await found(deps, { kind: "NOTIFICATION_DIFFERS", name, detail }, () =>
      replace(deps, ownerId, group, rebuilt),
    );
  }
}

/** Replaces an unread group by what its members are, and the counts of the inbox with it. */
function replace(
  { engine }: CompareDeps,
  ownerId: string,
  { target, ...group }: UnreadGroup,
  rebuilt: UnreadGroup | undefined,
): Promise<void> {
  const [inbox, ref] = [inboxRef(ownerId), refOfGroup(ownerId, { target, ...group })];
  return engine.transact({
    key: inbox,
    readSet: [inbox, ref, closedGroupsRef(ownerId, target)],
    expectAbsent: [],
    call: undefined,
    decide(tx, { wall }) {
      const before = tx.get(ref);
      if (!before) return;
      const after = rebuilt && withMembersOf(before, rebuilt, wall);
      const counts = replaceGroup(
        tx.get(inbox) ?? emptyInbox,
        inboxCountsOf(before),
        inboxCountsOf(after),
      );
      tx.put(inbox, counts);
      putUnread(tx, ownerId, before, after, counts.version);
    },
  });
}

/** Finds ids of events that are lost: the owner was notified, and nothing of it is left. */
async function compareEvents(
  deps: CompareDeps,
  records: readonly Scanned<"notifiedEvent">[],
  now: Instant,
): Promise<void> {
  const known = records.filter(
    ({ value: { version, retracted, expireTime } }) =>
      version > 0 && !retracted && expireTime > now,
  );
  const events = await Promise.all(
    known.map(({ id, value }) => inTurn(() => eventAt(deps, { ...value, ownerId: ownerOf(id) }))),
  );
  const targets = await deps.reader.many(known.map(({ value }) => targetRef(value.target)));
  for (const [i, { kind, id }] of known.entries()) {
    // The purge of a deleted target deletes its events and keeps their ids.
    if (events[i] || isDeleted(targets[i])) continue;
    const ref: Ref<"notifiedEvent"> = { kind, id };
    const name = id.split("#").join(" ");
    await found(deps, { kind: "EVENT_LOST", name }, () =>
      deps.engine.transact({
        key: inboxRef(ownerOf(id)),
        readSet: [ref],
        expectAbsent: [],
        call: undefined,
        decide: (tx) => tx.delete(ref),
      }),
    );
  }
}

const ownerOf = (eventId: string): string => eventId.slice(0, eventId.indexOf("#"));

/** Compares the counts of an inbox with its unread groups. */
async function compareInbox(deps: CompareDeps, ownerId: string, inbox: Inbox): Promise<void> {
  const groups: UnreadGroup[] = [];
  const pages = allPages(pageSize, (page) => deps.reader.unreadGroups(ownerId, false, page));
  for await (const page of pages) groups.push(...page);
  const recount = countAgain(inbox, groups);
  if (countsOf(recount) === countsOf(inbox)) return;
  const detail = `${countsOf(recount)}, not ${countsOf(inbox)}`;
  const ref = inboxRef(ownerId);
  await found(deps, { kind: "INBOX_DIFFERS", name: ownerId, detail }, () =>
    deps.engine.transact({
      key: ref,
      readSet: [ref],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const stored = tx.get(ref);
        if (stored) tx.put(ref, countAgain(stored, groups));
      },
    }),
  );
}

const countsOf = ({ notificationCount, closedCount, actorCount }: Inbox): string =>
  `${quantity(notificationCount, "notification")} (${closedCount} closed) of ` +
  quantity(actorCount, "person", "people");

/** The next version of an inbox, in which exactly these groups are counted. */
function countAgain(inbox: Inbox, groups: readonly UnreadGroup[]): Inbox {
  const version = inbox.version + 1;
  const none = { notificationCount: 0, closedCount: 0, actorCount: 0, kindCounts: {} };
  const empty: Inbox = { ...inbox, ...none, unseen: [], olderUnseenCount: 0 };
  const recount = groups
    .toSorted((a, b) => versionOf(a) - versionOf(b))
    .reduce<Inbox>((sum, group) => replaceGroup(sum, undefined, inboxCountsOf(group)), empty);
  return { ...recount, version, changeVersion: version };
}
