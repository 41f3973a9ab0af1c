/** The types of targets and of reactions to them. */

import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { KindCounts, StoredKind } from "./kinds.ts";
import type { LatestActors } from "./latest-actors.ts";

/** A thing that a user owns and that people react to. */
export interface Target extends TargetName {
  readonly ownerId: string;
  readonly title: string;
  readonly link: string;
  /** The number of reactions and events by kind. */
  readonly counts: KindCounts;
  /** Who has reacted last; absent until somebody does, and in a tombstone. */
  readonly latest?: LatestActors | undefined;
  /** While it is true, new reactions do not notify the owner. */
  readonly muted: boolean;
  readonly createTime: Instant;
  /** When title, link, mute or deletion last changed. */
  readonly updateTime: Instant;
  /** Set on a tombstone, which is never registered again. */
  readonly deleteTime?: Instant | undefined;
}

/** The flow of a purge in the pace of sweeps: one for each type, as services have types. */
export const purgeFlow = ({ type }: TargetName): string => `purge/${type}`;

/** A deleted target whose purge has not ended. */
export interface PendingPurge {
  readonly target: TargetName;
  readonly ownerId: string;
  readonly deleteTime: Instant;
}

/** An active reaction of one person, of one kind; or an event, which is stored in the same way. */
export interface Reaction {
  readonly target: TargetName;
  readonly kind: StoredKind;
  readonly userId: string;
  /** The person's name at the time of the reaction; for display only. */
  readonly displayName: string;
  /** The version of the owner's inbox at which the reaction was made. */
  readonly version: number;
  /** Whether it notified the owner, so that it was or is a member of an unread group. */
  readonly notified: boolean;
  readonly createTime: Instant;
  /** When the owner has read an earlier reaction of the person, in whose place this one came. */
  readonly readTime?: Instant | undefined;
}

/** The rest of a reaction that was unreacted, kept for as long as the next one may need it. */
export interface FormerReaction {
  /** The position that it had in an unread group: the next reaction comes back to it. */
  readonly position?: Position | undefined;
  /** When the owner has read it, or an earlier one. */
  readonly readTime?: Instant | undefined;
  /** When the person had reacted. */
  readonly createTime: Instant;
  /** From this instant on, the record may be deleted. */
  readonly expireTime: Instant;
}

/** The position of a member in an unread group. */
export interface Position {
  /** The version of the member. */
  readonly version: number;
  /** The generation of an open group, which begins anew with the member if it has ended. */
  readonly generation?: number | undefined;
}

/** In place of a user id: all events without an actor are one member. */
export const noActor = "";

/** The type of the targets that Meguri registers itself, for its own notices. */
export const reservedType = "meguri";
