/** Reads inboxes, and what callers see of one. */

import type { Deps } from "../../ports/deps.ts";
import { inboxRef } from "../../ports/records.ts";
import { type Badge, badgeOf, emptyInbox, type Inbox } from "../../rules/inbox.ts";

/** The content of an owner's badge and its version. */
export interface UnreadCount extends Badge {
  readonly version: number;
}

export const unreadCountOf = (inbox: Inbox): UnreadCount => ({
  ...badgeOf(inbox),
  version: inbox.version,
});

/** Reads an owner's inbox. An owner without one has an inbox of zeros at version 0. */
export async function inboxOf({ reader }: Pick<Deps, "reader">, ownerId: string): Promise<Inbox> {
  return (await reader.get(inboxRef(ownerId)))?.value ?? emptyInbox;
}
