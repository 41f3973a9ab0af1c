/** What can be read about an owner, as the models of reactions compare it. */
import type { Badge, NotificationName, Preferences, TargetName } from "./reactions-requests.ts";
import { nameText } from "./reactions-requests.ts";
import type { FormerReaction } from "./reactions-state.ts";

/** A notification as a reader sees it. */
export interface ShownNotification extends NotificationName {
  readonly title: string;
  readonly version: number;
  readonly actorCount: number;
  readonly eventCount: number;
  readonly seen: boolean;
  readonly firstActors: readonly string[];
  readonly latestActors: readonly string[];
  readonly latestEvents: readonly string[];
  /** The members who still react or whose event was not retracted, newest first. */
  readonly actors: readonly string[];
  /** The versions of the first and of the latest actors. */
  readonly versions: readonly number[];
  /** The times of the first and of the latest actors, and when it was read and expires. */
  readonly times: readonly number[];
}

export interface ShownTarget {
  readonly state: string;
  readonly title: string;
  readonly muted: boolean;
  readonly counts: Readonly<Record<string, number>>;
  /** The kinds with which the viewer reacts. */
  readonly own: readonly string[];
  /** The latest reactions of each kind. */
  readonly recent: Readonly<Record<string, readonly string[]>>;
  /** Who reacts, newest first, or the reason of the refusal. */
  readonly reactors: Readonly<Record<string, readonly string[] | string>>;
  /** The versions of all reactions, newest first, those that notified nobody marked. */
  readonly records: Readonly<Record<string, readonly string[]>>;
  /** What is kept of former reactions, by `formerText`. */
  readonly former: readonly string[];
}

/** What is read, and for which viewer. */
export interface Selection {
  readonly targets: readonly TargetName[];
  /** Kinds of reactions. */
  readonly kinds: readonly string[];
  /** The kinds of reactions and of events of a filtered list. */
  readonly filter: readonly string[];
  readonly viewerId: string;
  readonly userIds: readonly string[];
  /** Notifications that are read one by one, whether there are any or not. */
  readonly names: readonly NotificationName[];
}

/** Everything about an owner that can be read. */
export interface Shown {
  readonly badge: Badge;
  /** The version at which something unread has changed last. */
  readonly changeVersion: number;
  /** The notifications with the latest version first, here and in `read`. */
  readonly unread: readonly ShownNotification[];
  readonly read: readonly ShownNotification[];
  /** The notifications of both lists in one, by `shownText`, and those of the filter's kinds. */
  readonly merged: readonly string[];
  readonly filtered: readonly string[];
  /** The notifications of the selection, by `shownText`, or the reason of the refusal. */
  readonly named: readonly string[];
  readonly preferences: Preferences;
  readonly mutedPeople: readonly string[];
  readonly mutedTargets: readonly string[];
  readonly targets: readonly ShownTarget[];
}

/** A notification as text. */
export const shownText = (
  shown: NotificationName & Pick<ShownNotification, "version" | "seen" | "actorCount">,
): string => `${nameText(shown)} ${shown.version} ${shown.actorCount}${shown.seen ? "" : " new"}`;

/** A record as text. The user tells apart what two calls at the same time have written. */
export const recordText = ({
  userId,
  version,
  notified,
}: {
  readonly userId: string;
  readonly version: number;
  readonly notified: boolean;
}): string => `${userId} ${version}${notified ? "" : " silent"}`;

/** The longest cool-down, in ms. */
const maxCoolDownMs = 30 * 24 * 3_600_000;

/**
 * What matters of a reaction that was unreacted to the next one, as text; empty if nothing does.
 * Its record may be kept for longer, because a read notification shows the person.
 */
export function formerText(name: string, former: FormerReaction, now: number): string[] {
  const { position, readTime = 0 } = former;
  const coolDown = readTime + maxCoolDownMs > now ? readTime : undefined;
  if (!position && coolDown === undefined) return [];
  return [`${name} ${position?.version} ${position?.generation} ${coolDown}`];
}

/** An actor as text: the user id and the name. */
export const label = ({
  userId,
  displayName,
}: {
  readonly userId: string;
  readonly displayName: string;
}): string => `${userId} ${displayName}`;

/** An event as text. */
export const eventText = (event: {
  readonly eventId: string;
  readonly userId: string;
  readonly displayName: string;
  readonly link: string;
  readonly data: string;
}): string => `${event.eventId} ${label(event)} ${event.link} ${event.data}`;

/** The first member of each actor. */
export const different = <T extends { readonly userId: string }>(members: readonly T[]): T[] =>
  members.filter(({ userId }, i) => members.findIndex((member) => member.userId === userId) === i);
