/** Lists of unread and read groups, and reads of many inboxes at once. */
import type { Inbox } from "../../domain/inbox.ts";
import type { Instant } from "../../domain/month.ts";
import type { ReadGroup, UnreadGroup } from "../../domain/unread-group.ts";
import type { Page, PageRequest } from "./pages.ts";
import type { MutedPerson } from "./records.ts";

export interface NotificationReader {
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
  /** Lists the people whom an owner has muted, by id. */
  mutedPeople(ownerId: string, page: PageRequest): Promise<Page<MutedPerson>>;
  /** Returns the existing inboxes of these owners by owner id. Lags behind by moments. */
  inboxes(ownerIds: readonly string[]): Promise<ReadonlyMap<string, Inbox>>;
}
