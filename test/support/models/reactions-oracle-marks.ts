/** The part of the reactions oracle that marks notifications as read, unread or seen. */
import { begin, divide, end, isFullOfClosed, olderAgain } from "./reactions-oracle-members.ts";
import {
  type Answer,
  type GroupName,
  groupText,
  type NotificationName,
  type RequestOf,
} from "./reactions-requests.ts";
import {
  badgeOf,
  isUnread,
  lastOf,
  type Member,
  markOf,
  type Notification,
  namedOf,
  type Rules,
  type State,
  stateOf,
  takeVersion,
} from "./reactions-state.ts";

const unreadOf = (state: State, name: NotificationName): Notification | undefined => {
  const found = namedOf(state, name);
  return found && isUnread(found) ? found : undefined;
};

/** Marks a notification as read up to a version. The part that is read keeps the name. */
export function markRead(
  state: State,
  { keptMs }: Rules,
  { version, op: _, ...name }: RequestOf<"read">,
  now: number,
): Answer {
  const countedOnly = namedOf(state, name)?.countedOnly ?? 0;
  const members = takeSeen(state, name, version, now);
  const to = members.at(-1)?.version;
  if (to !== undefined) {
    const times = { readTime: now, expireTime: now + keptMs };
    state.notifications.push({ ...name, state: "read", to, members, countedOnly, ...times });
  }
  return { changed: to !== undefined, badge: badgeOf(state) };
}

/** Removes a read notification, or an unread one up to a version. */
export function dismiss(
  state: State,
  { version, op: _, ...name }: RequestOf<"dismiss">,
  now: number,
): Answer {
  const found = namedOf(state, name);
  const isRead = found !== undefined && !isUnread(found);
  if (isRead && !isGone(found, now)) {
    end(state, found);
    takeVersion(state, true);
    note(state, name, found.members);
    return { changed: true, badge: badgeOf(state) };
  }
  const members = takeSeen(state, name, version, now);
  note(state, name, members);
  return { changed: members.length > 0, badge: badgeOf(state) };
}

/** Notes members who are in no notification any more. */
function note({ dismissed }: State, { target, kind }: GroupName, members: readonly Member[]): void {
  dismissed.push(...members.map(({ version }) => ({ target, kind, version })));
}

/** Removes and returns the members of an unread notification up to `version`, who count as read. */
function takeSeen(state: State, name: NotificationName, version: number, now: number): Member[] {
  const unread = unreadOf(state, name);
  if (!unread || (unread.again && version < lastOf(unread))) return [];
  const members = divide(state, unread, version);
  if (members.length === 0) return [];
  takeVersion(state, true);
  const isWhole = members.length === unread.members.length;
  const readTo = isWhole ? endOf(state, unread) : version;
  const { readTo: before } = markOf(state, name);
  state.marks[groupText(name)] = { readTo: Math.max(readTo, before), readTime: now };
  return members;
}

/**
 * The version up to which nobody comes back after a read of a whole notification. A read of the
 * open one ends the places of people who have left it. A closed one has places up to its end only.
 */
const endOf = (state: State, unread: Notification): number =>
  unread.to ?? Math.max(lastOf(unread), ...placesOf(state, unread));

/** The versions of the places to which people may come back. */
const placesOf = (state: State, { target, kind }: GroupName): number[] =>
  Object.entries(stateOf(state, target)?.former ?? {})
    .filter(([name]) => name.startsWith(`${kind} `))
    .flatMap(([, { position }]) => position?.version ?? []);

/** Marks every notification as read up to a version. */
export function markAllRead(
  state: State,
  rules: Rules,
  { version }: RequestOf<"readAll">,
  now: number,
): Answer {
  const marks = state.notifications
    .filter(isUnread)
    .map(({ target, kind, generation }) =>
      markRead(state, rules, { op: "read", version, target, kind, generation }, now),
    );
  const markedCount = marks.filter((mark) => "changed" in mark && mark.changed).length;
  return { markedCount, badge: badgeOf(state) };
}

export function markUnread(state: State, name: NotificationName, now: number): Answer {
  const found = namedOf(state, name);
  const isDeleted = stateOf(state, name.target)?.deleted;
  if (!found || isGone(found, now) || isDeleted) return { refused: "NOTIFICATION_NOT_FOUND" };
  const changed = !isUnread(found);
  if (changed && isFullOfClosed(state, name.target)) return { refused: "LIMIT_EXCEEDED" };
  if (changed) {
    end(state, found);
    const { target, kind, generation, members, countedOnly } = found;
    const closed = { state: "closed", again: true, to: lastOf(found) } as const;
    const older = olderAgain(found);
    begin(state, { target, kind, generation, members, countedOnly, ...closed, older });
    takeVersion(state, true);
  }
  return { changed, badge: badgeOf(state) };
}

const isGone = ({ expireTime = Number.POSITIVE_INFINITY }: Notification, now: number): boolean =>
  expireTime <= now;

/** Notes nothing while nothing is new. The version grows only when the badge changes. */
export function markSeen(state: State, version: number): Answer {
  const before = badgeOf(state).unseenNotificationCount;
  if (before === 0) return { badge: badgeOf(state) };
  const seen = Math.min(version, state.version);
  state.seenVersion = Math.max(state.seenVersion, seen);
  if (badgeOf(state).unseenNotificationCount < before) takeVersion(state, true);
  return { badge: badgeOf(state) };
}
