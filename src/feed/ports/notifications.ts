/** Lists of unread and read groups, reads of many inboxes at once, and of members of a group. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Event, EventsName } from "../rules/event.ts";
import type { Inbox } from "../rules/inbox.ts";
import type { ReactionKind } from "../rules/kinds.ts";
import type { Reaction } from "../rules/target.ts";
import type { ReadGroup, UnreadGroup } from "../rules/unread-group.ts";
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

/** What a member of a group is stored as. */
export type MemberRecord = Reaction | Event;

/** Counts of events after a version. */
export interface EventCounts {
  readonly count: number;
  /** The events that are their actors' first ones after the version: the number of people. */
  readonly actorCount: number;
  /** The events that are their actors' first ones in the whole group. */
  readonly newActorCount: number;
}

/** The members at the ends of a range, at each end one more than a group shows. */
interface RangeEnds {
  /** The first three, earliest first. */
  readonly first: MemberRecord[];
  /** The latest four, latest first. */
  readonly latest: MemberRecord[];
}

/** The members on both sides of a version: `first` follow it, `latest` go up to it. */
export interface CountedSplit extends RangeEnds {
  /** The number of members up to the version. */
  readonly count: number;
  /** The number of members after it, if both sides were counted. */
  readonly restCount?: number;
}

/**
 * Reads the members of groups strongly consistently, each end and each page at its own moment, and
 * without retries: the commit engine retries a lookup. All throw STORE_UNAVAILABLE.
 */
export interface MemberReader {
  /** The members after a version, earliest first, at most `limit`. */
  membersAfter(name: MembersName, after: number, limit: number): Promise<MemberRecord[]>;
  /** The members at both ends of a range of versions, both included. */
  memberEnds(name: MembersName, from: number, to: number): Promise<RangeEnds>;
  /**
   * Splits the members with versions from `from` to `to` at `at`, all included. If `total` is the
   * number of members in the range, only the shorter side is counted; otherwise both are.
   */
  splitMembers(
    name: MembersName,
    range: { readonly from: number; readonly at: number; readonly to: number },
    total: number | undefined,
  ): Promise<CountedSplit>;
  /** Counts the events after `after`, up to `to`, in a group that began at `generation`. */
  countEvents(
    name: EventsName,
    range: { readonly generation: number; readonly after: number; readonly to: number },
  ): Promise<EventCounts>;
}
