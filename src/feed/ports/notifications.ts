/** Lists of unread and read groups, reads of many inboxes at once, and of members of a group. */

import type { Lookup } from "../../platform/ports/engine.ts";
import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Event, EventsName } from "../rules/event.ts";
import type { Inbox } from "../rules/inbox.ts";
import type { ReactionKind } from "../rules/kinds.ts";
import type { Split } from "../rules/notification.ts";
import type { Reaction } from "../rules/target.ts";
import type { Ends, ReadGroup, UnreadGroup } from "../rules/unread-group.ts";
import type { MutedPerson, MutedTarget } from "./records.ts";

export interface NotificationReader extends MemberReader {
  /** Lists unread groups by version, if given only those of a version below `before`. */
  unreadGroups(
    ownerId: string,
    newestFirst: boolean,
    page: PageRequest,
    before?: number,
  ): Promise<Page<UnreadGroup>>;
  /**
   * Lists the read groups that have not expired at `now`, by version, newest first, if given only
   * those of a version below `before`.
   */
  readGroups(
    ownerId: string,
    now: Instant,
    page: PageRequest,
    before?: number,
  ): Promise<Page<ReadGroup>>;
  /**
   * The read group of events that began latest at this version or before it, also an expired one.
   */
  readGroupFrom(name: EventsName, version: number): Promise<ReadGroup | undefined>;
  /** Lists the people whom an owner has muted, by id. */
  mutedPeople(ownerId: string, page: PageRequest): Promise<Page<MutedPerson>>;
  /** Lists the targets that an owner has muted, by type and id. */
  mutedTargets(ownerId: string, page: PageRequest): Promise<Page<MutedTarget>>;
  /** Returns the existing inboxes of these owners by owner id. Lags behind by moments. */
  inboxes(ownerIds: readonly string[]): Promise<ReadonlyMap<string, Inbox>>;
}

/** Names the notified reactions of one kind to one target, which are the members of its groups. */
interface ReactionsName {
  readonly target: TargetName;
  readonly kind: ReactionKind;
}

/** Names the members of groups. */
export type MembersName = ReactionsName | EventsName;

/** The record of a member of a group. */
export type MemberRecord = Reaction | Event;

/** A group as a decision sees it, and the time of the decision. */
export interface SeenGroup<G extends UnreadGroup | ReadGroup = UnreadGroup | ReadGroup> {
  readonly ref: Ref<"unreadGroup" | "readGroup">;
  readonly group: G;
  readonly now: Instant;
}

/**
 * Reads the members of groups without retries: the commit engine retries a lookup. What a lookup
 * finds is exact for the group that the decision sees, whatever other calls write meanwhile. All
 * throw THROTTLED and STORE_UNAVAILABLE.
 */
export interface MemberReader {
  /** The members after a version, earliest first, at most `limit`. */
  membersAfter(name: MembersName, after: number, limit: number): Promise<MemberRecord[]>;
  /** Both sides of a version that divides an unread group. */
  split(seen: SeenGroup<UnreadGroup>, version: number): Lookup<Split>;
  /**
   * The members whom a group shows at its ends without that of a version, who leaves. Undefined if
   * the group has them: it shows all of its members, or it does not show this one.
   */
  refill(seen: SeenGroup, version: number): Lookup<Partial<Ends>> | undefined;
}
