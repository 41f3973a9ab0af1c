/** What the models of reactions and notifications send, and what is answered. */

export interface TargetName {
  readonly type: string;
  readonly id: string;
}

/** In the place of a target: the event is about none. */
export const noTarget: TargetName = { type: "-", id: "-" };

/** Reactions or events of one kind about one target. */
export interface GroupName {
  readonly target: TargetName;
  /** The kind of reactions, or `eventsOf` the kind of events. */
  readonly kind: string;
}

/** Names one notification for ever: no two of an owner have the same name. */
export interface NotificationName extends GroupName {
  /** The version at which it began. */
  readonly generation: number;
}

/** A kind of events, which differs from the kind of reactions of the same name. */
export const eventsOf = (kind: string): string => `~${kind}`;
export const isEvents = (kind: string): boolean => kind.startsWith("~");
/** The kind without its mark. */
export const plainKind = (kind: string): string => kind.replace("~", "");

/** What an owner has muted, apart from targets and people. */
export interface Preferences {
  readonly allMuted: boolean;
  readonly mutedKinds: readonly string[];
  readonly mutedEventKinds: readonly string[];
}

interface React extends GroupName {
  readonly op: "react";
  readonly userId: string;
  readonly displayName: string;
  readonly exclusive: boolean;
  readonly silent: boolean;
  /** The rules of this call, in ms; undefined for those that the service has. */
  readonly coolDownMs: number | undefined;
  readonly regroupAfterMs: number | undefined;
}

interface Notify extends GroupName {
  readonly op: "notify";
  /** The service that reports it. */
  readonly service: string;
  readonly eventId: string;
  /** Empty for an event without an actor. */
  readonly userId: string;
  readonly displayName: string;
  readonly link: string;
  readonly data: string;
  readonly regroupAfterMs: number | undefined;
  /** Whether the call names its owners, who are found by the target otherwise. */
  readonly namesOwners?: boolean;
}

export type Request =
  | { readonly op: "register"; readonly target: TargetName; readonly title: string }
  | React
  | ({ readonly op: "unreact"; readonly userId: string } & GroupName)
  | Notify
  | {
      readonly op: "retract";
      readonly service: string;
      readonly eventId: string;
      readonly target: TargetName;
    }
  | ({ readonly op: "read"; readonly version: number } & NotificationName)
  | ({ readonly op: "dismiss"; readonly version: number } & NotificationName)
  | ({ readonly op: "unread" } & NotificationName)
  | { readonly op: "readAll"; readonly version: number }
  | { readonly op: "seen"; readonly version: number }
  | { readonly op: "mute"; readonly target: TargetName; readonly muted: boolean }
  | { readonly op: "mutePerson"; readonly userId: string; readonly muted: boolean }
  | { readonly op: "block"; readonly userId: string }
  | { readonly op: "prefer"; readonly preferences: Preferences }
  | { readonly op: "delete"; readonly target: TargetName }
  /** The first step of a purge; it does not change an active target. */
  | { readonly op: "readKindsToPurge"; readonly target: TargetName };

/** A request of one kind. */
export type RequestOf<Op extends Request["op"]> = Extract<Request, { op: Op }>;

/** What can be sent for several owners at once, also when it is about a target. */
export type EventRequest = RequestOf<"notify" | "retract">;

export interface Badge {
  readonly version: number;
  readonly notificationCount: number;
  readonly actorCount: number;
  readonly unseenNotificationCount: number;
  /** The number of unread notifications by kind. */
  readonly kindCounts: Readonly<Record<string, number>>;
}

export interface Refused {
  readonly refused: string;
}

export type Answer =
  | Refused
  | { readonly changed: boolean; readonly reactionCount: number }
  | { readonly changed: boolean; readonly badge: Badge }
  | { readonly changed: boolean }
  | { readonly notified: boolean; readonly replayed: boolean; readonly retracted: boolean }
  | { readonly markedCount: number; readonly badge: Badge }
  | { readonly badge: Badge }
  | { readonly preferences: Preferences }
  | { readonly title: string; readonly muted: boolean; readonly deleted: boolean }
  | { readonly kinds: readonly string[] };

export const textOf = ({ type, id }: TargetName): string => `${type}/${id}`;

export const isSame = (a: TargetName, b: TargetName): boolean => textOf(a) === textOf(b);

export const groupText = ({ target, kind }: GroupName): string => `${textOf(target)} ${kind}`;

export const nameText = (name: NotificationName): string => `${groupText(name)} ${name.generation}`;
