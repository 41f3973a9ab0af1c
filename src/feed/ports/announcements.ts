/**
 * Announcements of changed inboxes from process to process. They only save time and reads: one may
 * be lost, late, doubled, out of order or invented, so its receiver reads the inbox.
 */

/** Gets the announcements. Its methods do not throw. */
export interface AnnouncementListener {
  /** The owner's unread notifications are said to have changed at this inbox version. */
  announced(ownerId: string, changeVersion: number): void;
  /** From now on this process gets the announcements of these owners, until `lost`. */
  subscribed(ownerIds: readonly string[]): void;
  /** This process gets no announcements any more, and may have missed some in the last seconds. */
  lost(): void;
}

/** The channel of the announcements. None of its methods waits for it. */
export interface Announcements {
  /** Connects, and does so again whenever the connection is lost. */
  start(listener: AnnouncementListener): void;
  /** Announces to the other processes that a commit has changed the unread notifications. */
  announce(ownerId: string, changeVersion: number): void;
  /** Wants the announcements of this owner, until `unsubscribe`. */
  subscribe(ownerId: string): void;
  unsubscribe(ownerId: string): void;
}
