/** What readers see of the state of the reactions oracle. */
import { type GroupName, isEvents, type NotificationName } from "./reactions-requests.ts";
import {
  different,
  eventText,
  formerText,
  label,
  recordText,
  type Selection,
  type Shown,
  type ShownNotification,
  type ShownTarget,
  shownText,
} from "./reactions-shown.ts";
import {
  actorCountOf,
  badgeOf,
  isUnread,
  lastOf,
  type Notification,
  namedOf,
  type State,
  stateOf,
  type TargetState,
} from "./reactions-state.ts";

/** What readers see at a time. */
export function shownOf(state: State, selection: Selection, now: number): Shown {
  const { allMuted, mutedKinds, mutedEventKinds, mutedPeople } = state;
  const listed = state.notifications
    .filter((each) => isListed(state, each, now))
    .toSorted((a, b) => lastOf(b) - lastOf(a))
    .map((each) => [each, notificationOf(state, each)] as const);
  const { filter, names } = selection;
  const isChosen = ({ kind }: GroupName) => filter.length === 0 || filter.includes(kind);
  const all = listed.map(([, shown]) => shown);
  return {
    badge: badgeOf(state),
    changeVersion: state.changeVersion,
    unread: listed.flatMap(([each, shown]) => (isUnread(each) ? [shown] : [])),
    read: listed.flatMap(([each, shown]) => (isUnread(each) ? [] : [shown])),
    merged: all.map(shownText),
    filtered: all.filter(isChosen).map(shownText),
    named: names.map((name) => namedText(state, name, now)),
    preferences: {
      allMuted,
      mutedKinds: mutedKinds.toSorted(),
      mutedEventKinds: mutedEventKinds.toSorted(),
    },
    mutedPeople: mutedPeople.toSorted(),
    mutedTargets: Object.entries(state.targets)
      .filter(([, { muted, deleted }]) => muted && !deleted)
      .map(([text]) => text)
      .sort(),
    targets: selection.targets.map((target) => targetOf(stateOf(state, target), selection, now)),
  };
}

/** Whether lists have a notification. Expired and deleted ones are left out. */
const isListed = (state: State, { target, expireTime }: Notification, now: number): boolean =>
  (expireTime === undefined || expireTime > now) && !stateOf(state, target)?.deleted;

function namedText(state: State, name: NotificationName, now: number): string {
  const found = namedOf(state, name);
  if (!found || !isListed(state, found, now)) return "NOTIFICATION_NOT_FOUND";
  return shownText(notificationOf(state, found));
}

function notificationOf(state: State, notification: Notification): ShownNotification {
  const { target, kind, generation, members, readTime, expireTime } = notification;
  const { title = "", records = {} } = stateOf(state, target) ?? {};
  const version = lastOf(notification);
  const first = members.slice(0, 2);
  const latest = members.slice(-3).reverse();
  const present = (records[kind] ?? []).filter(
    (record) => record.notified && members.some((each) => each.version === record.version),
  );
  const named = [...first, ...latest];
  const areAllNamed = members.length <= 5;
  const events = members.flatMap(({ event, ...actor }) => (event ? [{ ...event, ...actor }] : []));
  return {
    target,
    kind,
    generation,
    title,
    version,
    actorCount: actorCountOf(notification),
    eventCount: events.length,
    seen: !isUnread(notification) || version <= state.seenVersion,
    firstActors: different(areAllNamed ? members : first)
      .slice(0, 2)
      .map(label),
    latestActors: different(areAllNamed ? members.toReversed() : latest)
      .slice(0, 3)
      .map(label),
    latestEvents: events.slice(-3).reverse().map(eventText),
    actors: (isEvents(kind) ? members : present).map(label).reverse(),
    versions: named.map((member) => member.version),
    times: [
      ...named.map(({ time }) => time),
      ...[readTime, expireTime].filter((time) => time !== undefined),
    ],
  };
}

function targetOf(
  state: TargetState | undefined,
  { kinds, viewerId, userIds }: Selection,
  now: number,
): ShownTarget {
  const by = <T>(of: (kind: string) => T, all = kinds) =>
    Object.fromEntries(all.map((kind) => [kind, of(kind)]));
  const of = (kind: string) => (state?.records[kind] ?? []).toReversed();
  const { title = "", muted = false } = state ?? {};
  const records = by((kind) => of(kind).map(recordText));
  const former = Object.entries(state?.former ?? {})
    .filter(([name]) => userIds.some((userId) => name.endsWith(` ${userId}`)))
    .flatMap(([name, kept]) => formerText(name, kept, now))
    .sort();
  const shown = { title, muted, counts: {}, own: [], recent: {}, records, former };
  if (!state) return { ...shown, state: "UNKNOWN", reactors: by(() => "TARGET_NOT_FOUND") };
  if (state.deleted)
    return { ...shown, state: "DELETED", former: [], reactors: by(() => "TARGET_DELETED") };
  const reacted = Object.keys(state.records).sort();
  return {
    ...shown,
    state: "ACTIVE",
    counts: by((kind) => of(kind).length, reacted),
    own: reacted.filter((kind) => of(kind).some(({ userId }) => userId === viewerId)),
    recent: by((kind) => of(kind).slice(0, 3).map(label), reacted),
    reactors: by((kind) => of(kind).map(label)),
  };
}
