/**
 * The notifications of one owner as lists of members in the order of their versions, and how a
 * member comes in and leaves. It shares nothing with src.
 */
import {
  type Badge,
  type GroupName,
  groupText,
  type NotificationName,
  nameText,
  type Preferences,
  type TargetName,
  textOf,
} from "./reactions-requests.ts";

/** One reaction or event of an actor. */
export interface Member {
  readonly userId: string;
  readonly displayName: string;
  readonly version: number;
  readonly time: number;
  /** Only of an event. */
  readonly event?: { readonly eventId: string; readonly link: string; readonly data: string };
}

/** A reaction that is counted, whether it notified the owner or not. */
export interface StoredReaction extends Member {
  readonly notified: boolean;
  /** When the owner has read an earlier reaction of the person. */
  readonly readTime?: number | undefined;
}

/** What is known of a reaction that was unreacted. */
export interface FormerReaction {
  /** Its version, and the generation of the unread notification in which it was. */
  readonly position?: Position | undefined;
  readonly readTime?: number | undefined;
}

export interface Position {
  readonly version: number;
  /** Unset if the notification was closed: it does not begin anew. */
  readonly generation?: number | undefined;
}

export interface TargetState {
  title: string;
  muted: boolean;
  deleted: boolean;
  /** Whether a purge has deleted its reactions and the events about it. */
  purged: boolean;
  /** The kinds at the time of the deletion: every purge reads them. */
  purgedKinds: string[];
  /** By kind, in the order of the versions. */
  records: Record<string, StoredReaction[]>;
  /** By kind and user. */
  former: Record<string, FormerReaction>;
}

export interface Notification extends NotificationName {
  /** A closed one is unread and takes in nobody new. */
  state: "open" | "closed" | "read";
  /** The version of the last member that a closed or read one has had. */
  to?: number;
  /** In the order of the versions. */
  members: Member[];
  /** How many more are only counted: they took back what was read, and were not shown. */
  countedOnly?: number | undefined;
  /** Only of an unread one. */
  older?: Older;
  readonly readTime?: number;
  readonly expireTime?: number;
  /** Whether a closed one was read before: then it is read as a whole. */
  readonly again?: boolean;
}

/**
 * Members who take a reaction back and have no position to come back to, because many came later.
 */
export interface Older {
  /** Those up to this version. */
  readonly to: number;
  /** Those up to this one are the next. */
  readonly nextTo: number;
  /** When the member of the version `nextTo` came in. */
  readonly nextTime: number;
}

/** Up to which version nobody comes back to a group, and when the owner has read it last. */
interface Mark {
  readonly readTo: number;
  readonly readTime: number;
}

/** An event that a service has reported. */
export interface ReportedEvent extends GroupName {
  /** The request as text. */
  readonly request: string;
  readonly version: number;
  readonly expireTime: number;
  retracted: boolean;
}

export interface State extends Preferences {
  version: number;
  /** The version at which something unread has changed last. */
  changeVersion: number;
  seenVersion: number;
  allMuted: boolean;
  mutedKinds: string[];
  mutedEventKinds: string[];
  mutedPeople: string[];
  /** By service and event id. */
  events: Record<string, ReportedEvent>;
  targets: Record<string, TargetState>;
  notifications: Notification[];
  /** The reactions and events that were in notifications which were dismissed. */
  dismissed: (GroupName & { readonly version: number })[];
  marks: Record<string, Mark>;
  /** The kinds whose unread notifications are counted. */
  kindCounts: Record<string, number>;
}

/** Whose state it is, and for how long read notifications and ids of events are kept, in ms. */
export interface Rules {
  readonly ownerId: string;
  readonly keptMs: number;
}

export const emptyState: State = {
  version: 0,
  changeVersion: 0,
  seenVersion: 0,
  allMuted: false,
  mutedKinds: [],
  mutedEventKinds: [],
  mutedPeople: [],
  events: {},
  targets: {},
  notifications: [],
  dismissed: [],
  marks: {},
  kindCounts: Object.create(null),
};

/** A badge shows more than so many new notifications as "99+". */
const mostUnseen = 99;

/** Takes the next version, for a change of a notification, unread or read, or for another one. */
export function takeVersion(state: State, isOfNotification: boolean): void {
  state.version += 1;
  if (isOfNotification) state.changeVersion = state.version;
}

export const lastOf = ({ members }: Pick<Notification, "members">): number =>
  (members.at(-1) as Member).version;

export const isUnread = ({ state }: Notification): boolean => state !== "read";

/** Events without an actor count as one actor. */
export const actorCountOf = ({ members, countedOnly = 0 }: Notification): number =>
  new Set(members.map(({ userId }) => userId)).size + countedOnly;

/** The members who are shown: at most two at the beginning and three at the end. */
export const namedMembersOf = ({ members }: Notification): readonly Member[] => [
  ...members.slice(0, 2),
  ...members.slice(-3),
];

export const stateOf = ({ targets }: State, target: TargetName): TargetState | undefined =>
  targets[textOf(target)];

/** A target that is registered and not deleted. */
export function activeOf(
  state: State,
  target: TargetName,
): TargetState | { readonly refused: string } {
  const found = stateOf(state, target);
  if (!found) return { refused: "TARGET_NOT_FOUND" };
  return found.deleted ? { refused: "TARGET_DELETED" } : found;
}

export function badgeOf(state: State): Badge {
  const unread = state.notifications.filter(isUnread);
  const unseen = unread.filter((each) => lastOf(each) > state.seenVersion).length;
  return {
    version: state.version,
    notificationCount: unread.length,
    actorCount: unread.reduce((sum, each) => sum + actorCountOf(each), 0),
    unseenNotificationCount: Math.min(unseen, mostUnseen),
    kindCounts: { ...state.kindCounts },
  };
}

export const openOf = (state: State, group: GroupName): Notification | undefined =>
  state.notifications.find((each) => each.state === "open" && groupText(each) === groupText(group));

export const namedOf = (
  { notifications }: State,
  name: NotificationName,
): Notification | undefined => notifications.find((each) => nameText(each) === nameText(name));

/** The notification that has a member of this version. */
export const having = (
  { notifications }: State,
  group: GroupName,
  version: number,
): Notification | undefined =>
  notifications.find(
    (each) =>
      groupText(each) === groupText(group) &&
      each.members.some((member) => member.version === version),
  );

/** The reaction of a member who has not taken it back. */
export const recordOf = (
  state: State,
  { target, kind }: GroupName,
  { version }: Member,
): StoredReaction | undefined =>
  stateOf(state, target)?.records[kind]?.find((record) => record.version === version);

export const markOf = ({ marks }: State, group: GroupName): Mark =>
  marks[groupText(group)] ?? { readTo: 0, readTime: 0 };

/** Of a name, this many bytes are kept. */
const mostBytes = 96;

const clusters = new Intl.Segmenter("ja", { granularity: "grapheme" });

/** The longest beginning of whole grapheme clusters that fits, or else of whole code points. */
export function shorten(name: string): string {
  const whole = Array.from(clusters.segment(name), ({ segment }) => segment);
  return longestFit(whole) || longestFit([...name]);
}

/** Joins the parts, without as many of the last ones as do not fit. */
function longestFit(parts: readonly string[]): string {
  const joined = parts.join("");
  return Buffer.byteLength(joined) > mostBytes ? longestFit(parts.slice(0, -1)) : joined;
}
