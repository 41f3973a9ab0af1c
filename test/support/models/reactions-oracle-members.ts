/** The part of the reactions oracle that lets members into notifications and out of them. */
import {
  type GroupName,
  groupText,
  isEvents,
  isSame,
  plainKind,
  type TargetName,
} from "./reactions-requests.ts";
import {
  isUnread,
  lastOf,
  type Member,
  markOf,
  type Notification,
  namedMembersOf,
  type Older,
  openOf,
  type Position,
  type Rules,
  recordOf,
  type State,
  stateOf,
} from "./reactions-state.ts";

/** How many kinds are counted. */
const mostKindCounts = 16;

/** How many closed notifications an owner has of a target. */
const mostClosed = 32;

/** Whether an owner has as many closed notifications of a target as there may be. */
export const isFullOfClosed = (state: State, target: TargetName): boolean =>
  state.notifications.filter((each) => each.state === "closed" && isSame(each.target, target))
    .length >= mostClosed;

/** Whether the owner is notified of what a person does, as far as mutes say. */
export function hears(
  state: State,
  { ownerId }: Rules,
  { target, kind, userId }: GroupName & { readonly userId: string },
): boolean {
  const { allMuted, mutedKinds, mutedEventKinds, mutedPeople } = state;
  const kinds = isEvents(kind) ? mutedEventKinds : mutedKinds;
  const isMuted =
    allMuted ||
    (stateOf(state, target)?.muted ?? false) ||
    kinds.includes(plainKind(kind)) ||
    mutedPeople.includes(userId);
  return !isMuted && userId !== ownerId;
}

/**
 * Takes a new member into the open notification of a group. One that began longer ago than
 * `regroupAfterMs` is closed first, if it may be.
 */
export function comeIn(
  state: State,
  group: GroupName,
  member: Member,
  regroupAfterMs: number | undefined,
): void {
  const open = openOf(state, group);
  const began = open?.members[0]?.time ?? member.time;
  const isOld = regroupAfterMs !== undefined && began < member.time - regroupAfterMs;
  if (open && !(isOld && !isFullOfClosed(state, group.target))) {
    takeIn(open, member);
    open.older = olderAfter(open, member);
    return;
  }
  if (open) {
    const { readTo, readTime } = markOf(state, group);
    state.marks[groupText(group)] = { readTo: Math.max(readTo, lastOf(open)), readTime };
    Object.assign(open, { state: "closed", to: lastOf(open) });
  }
  const { target, kind } = group;
  const generation = member.version;
  const older = noneOlder(generation, member.time);
  begin(state, { target, kind, generation, state: "open", members: [member], older });
}

/** As long as nobody is among the older members. */
const noneOlder = (generation: number, time: number): Older => ({
  to: generation - 1,
  nextTo: generation - 1,
  nextTime: time,
});

const olderOf = ({ older }: Notification): Older => older as Older;

/** Every 45 members, but at most once a second, there are more older ones. */
function olderAfter(open: Notification, { version, time }: Member): Older {
  const older = olderOf(open);
  const later = open.members.filter((each) => each.version > older.nextTo).length;
  if (later < 45 || time < older.nextTime + 1_000) return older;
  return { to: older.nextTo, nextTo: version, nextTime: time };
}

/** What is known of members who were read before: of more than 45, all are older ones. */
export const olderAgain = ({ generation, members, countedOnly = 0 }: Notification): Older =>
  noneOlder(members.length + countedOnly > 45 ? lastOf({ members }) + 1 : generation, 0);

/**
 * Takes a member in at the position that it has left, also when this was the last member. Returns
 * false when the owner has read up to there, when a later notification is unread, or when it was
 * among the older members.
 */
export function comeBack(
  state: State,
  { target, kind }: GroupName,
  member: Member,
  position: Position,
): boolean {
  const group = { target, kind };
  const { version } = position;
  const unread = state.notifications
    .filter((each) => isUnread(each) && groupText(each) === groupText(group))
    .filter(({ generation, to = version }) => generation <= version && version <= to);
  const found = unread.at(-1);
  if (found) {
    if (version <= olderOf(found).to) return false;
    takeIn(found, { ...member, version });
    return true;
  }
  if (position.generation === undefined) return false;
  const generation = Math.max(position.generation, markOf(state, group).readTo + 1);
  if (openOf(state, group) || version < generation) return false;
  const older = noneOlder(generation, member.time);
  begin(state, { ...group, generation, state: "open", members: [{ ...member, version }], older });
  return true;
}

function takeIn({ members }: Notification, member: Member): void {
  members.push(member);
  members.sort((a, b) => a.version - b.version);
}

/**
 * Takes a member out. The last one to leave ends the notification. Whoever has taken back what was
 * read, and is not shown by then, is not shown in the place of the one who leaves either.
 */
export function takeOut(state: State, notification: Notification, version: number): void {
  const { members, kind, countedOnly = 0 } = notification;
  const named = namedMembersOf(notification);
  const canBeShown = (member: Member) =>
    isEvents(kind) || named.includes(member) || recordOf(state, notification, member) !== undefined;
  const others = members.filter((member) => member.version !== version);
  notification.members = others.filter(canBeShown);
  notification.countedOnly = countedOnly + others.length - notification.members.length;
  if (notification.members.length === 0) end(state, notification);
}

/** Removes the members up to `version` from an unread notification and returns them. */
export function divide(state: State, notification: Notification, version: number): Member[] {
  const { members } = notification;
  const seen = members.filter((member) => member.version <= version);
  const later = members.filter((member) => member.version > version);
  if (later.length === 0) {
    end(state, notification);
  } else if (seen.length > 0) {
    // The rest has another name, and its kind is counted as before.
    const before = olderOf(notification);
    const [to, nextTo] = [Math.max(before.to, version), Math.max(before.nextTo, version)];
    const older = { ...before, to, nextTo };
    const rest = { ...notification, generation: version + 1, members: later, older };
    state.notifications = state.notifications.map((each) => (each === notification ? rest : each));
  }
  return seen;
}

/** Begins a notification. Its kind is counted if all unread ones of the kind are. */
export function begin(state: State, notification: Notification): void {
  const { kind } = notification;
  const { kindCounts, notifications } = state;
  const counted = Object.values(kindCounts).reduce((sum, count) => sum + count, 0);
  const hasUncounted = counted < notifications.filter(isUnread).length;
  const isFull = Object.keys(kindCounts).length >= mostKindCounts;
  notifications.push(notification);
  if (kindCounts[kind] === undefined && (hasUncounted || isFull)) return;
  kindCounts[kind] = (kindCounts[kind] ?? 0) + 1;
}

/** Ends a notification. */
export function end(state: State, notification: Notification): void {
  state.notifications = state.notifications.filter((each) => each !== notification);
  const { kind } = notification;
  const count = state.kindCounts[kind];
  if (count === undefined || !isUnread(notification)) return;
  if (count > 1) state.kindCounts[kind] = count - 1;
  else delete state.kindCounts[kind];
}
