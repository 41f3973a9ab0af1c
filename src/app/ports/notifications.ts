/** Lists of unread and read groups, and reads of many inboxes at once. */
import type { Instant } from "../../domain/month.ts";
import type { Inbox, ReadGroup, UnreadGroup } from "../../domain/notification.ts";
import type { Page, PageRequest } from "./pages.ts";

export interface NotificationReader {
  /** Lists unread groups by version. */
  unreadGroups(
    ownerId: string,
    newestFirst: boolean,
    page: PageRequest,
  ): Promise<Page<UnreadGroup>>;
  /** Lists the read groups that have not expired at `now`, by version, newest first. */
  readGroups(ownerId: string, now: Instant, page: PageRequest): Promise<Page<ReadGroup>>;
  /** Returns the existing inboxes of these owners by owner id. Lags behind by moments. */
  inboxes(ownerIds: readonly string[]): Promise<ReadonlyMap<string, Inbox>>;
}
