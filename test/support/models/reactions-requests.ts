/** What the models of reactions send, and what the service and the oracle answer and show. */

export interface TargetName {
  readonly type: string;
  readonly id: string;
}

/** Reactions and events of one kind to one target, which are one line of the list when unread. */
export interface LineName {
  readonly target: TargetName;
  /** The kind of reactions, or `eventsOf` the kind of events. */
  readonly kind: string;
}

/** The kind of a line of events. */
export const eventsOf = (kind: string): string => `~${kind}`;
export const isEvents = (kind: string): boolean => kind.startsWith("~");
/** The kind of a line without its mark. */
export const plainKind = (kind: string): string => kind.replace("~", "");

/** What an owner has muted, apart from targets and people. */
export interface Preferences {
  readonly allMuted: boolean;
  readonly mutedKinds: readonly string[];
}

interface React extends LineName {
  readonly op: "react";
  readonly userId: string;
  readonly displayName: string;
  readonly exclusive: boolean;
  readonly silent: boolean;
}

interface Notify extends LineName {
  readonly op: "notify";
  /** The service that reports it. */
  readonly service: string;
  readonly eventId: string;
  /** Empty for an event without an actor. */
  readonly userId: string;
  readonly displayName: string;
}

export type Request =
  | { readonly op: "register"; readonly target: TargetName; readonly title: string }
  | React
  | ({ readonly op: "unreact"; readonly userId: string } & LineName)
  | Notify
  | ({ readonly op: "read"; readonly version: number } & LineName)
  | { readonly op: "readAll"; readonly version: number }
  | { readonly op: "seen"; readonly version: number }
  | { readonly op: "mute"; readonly target: TargetName; readonly muted: boolean }
  | { readonly op: "mutePerson"; readonly userId: string; readonly muted: boolean }
  | { readonly op: "prefer"; readonly preferences: Preferences }
  | { readonly op: "delete"; readonly target: TargetName }
  /** The first step of a purge; it does not change an active target. */
  | { readonly op: "readKindsToPurge"; readonly target: TargetName };

/** A request of one kind. */
export type RequestOf<Op extends Request["op"]> = Extract<Request, { op: Op }>;

export interface Badge {
  readonly version: number;
  readonly notificationCount: number;
  readonly actorCount: number;
  readonly unseenNotificationCount: number;
}

export type Answer =
  | { readonly refused: string }
  | { readonly changed: boolean; readonly reactionCount: number }
  | { readonly changed: boolean; readonly badge: Badge }
  | { readonly changed: boolean }
  | { readonly notified: boolean; readonly replayed: boolean }
  | { readonly markedCount: number; readonly badge: Badge }
  | { readonly badge: Badge }
  | { readonly preferences: Preferences }
  | { readonly title: string; readonly muted: boolean; readonly deleted: boolean }
  | { readonly kinds: readonly string[] };

/** A line as a reader sees it. */
export interface ShownLine {
  readonly target: TargetName & { readonly title: string };
  readonly kind: string;
  readonly version: number;
  readonly actorCount: number;
  readonly seen: boolean;
  readonly firstActors: readonly string[];
  readonly latestActors: readonly string[];
  /** The actors who still react, newest first. */
  readonly actors: readonly string[];
  /** The versions of the first and of the latest actors. */
  readonly versions: readonly number[];
  /** The times of the first and of the latest actors, and when a read line was read and expires. */
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
  /** The versions of all reactions and events, newest first, those that notified nobody marked. */
  readonly records: Readonly<Record<string, readonly string[]>>;
}

/** What is read, and for which viewer. */
export interface Selection {
  readonly targets: readonly TargetName[];
  /** Kinds of reactions. */
  readonly kinds: readonly string[];
  /** Kinds of events. */
  readonly eventKinds: readonly string[];
  readonly viewerId: string;
}

/** Everything about an owner that can be read. */
export interface Shown {
  readonly badge: Badge;
  /** The lines with the latest version first, here and in `read`. */
  readonly unread: readonly ShownLine[];
  readonly read: readonly ShownLine[];
  /** The lines of both lists in one, by `lineText`. */
  readonly merged: readonly string[];
  readonly preferences: Preferences;
  readonly mutedPeople: readonly string[];
  readonly targets: readonly ShownTarget[];
}

/** A line of the merged list as text. */
export const lineText = (line: Pick<ShownLine, "target" | "kind" | "version" | "seen">): string =>
  `${textOf(line.target)} ${line.kind} ${line.version}${line.seen ? "" : " new"}`;

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

export const textOf = ({ type, id }: TargetName): string => `${type}/${id}`;

/** An actor as text: the user id and the name. */
export const label = ({
  userId,
  displayName,
}: {
  readonly userId: string;
  readonly displayName: string;
}): string => `${userId} ${displayName}`;
