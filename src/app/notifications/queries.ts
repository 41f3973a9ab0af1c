import { type ReadGroup, textOf, type UnreadGroup } from "../../domain/notification.ts";
import type { Reaction, Target } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { targetRef } from "../ports/records.ts";
import { checkOwner } from "../reactions/targets.ts";
import type { NotificationName } from "./commands.ts";

/** A group as it is shown: with what it is about and whom it names. */
export interface Notification {
  readonly group: UnreadGroup | ReadGroup;
  /** As it is now; a tombstone if it was deleted since. */
  readonly target: Target;
  readonly text: ReturnType<typeof textOf>;
}

/** An owner's notifications, by the number of the latest reaction, newest first. */
export async function listNotifications(
  { reader, clock }: Pick<Deps, "reader" | "clock">,
  ownerId: string,
  state: "UNREAD" | "READ",
  page: PageRequest,
): Promise<Page<Notification>> {
  const found: Page<UnreadGroup | ReadGroup> =
    state === "UNREAD"
      ? await reader.unreadGroups(ownerId, true, page)
      : await reader.readGroups(ownerId, (await clock.now()).wall, page);
  const targets = await reader.many(found.items.map(({ target }) => targetRef(target)));
  const items = found.items.flatMap((group, i) => {
    const target = targets[i];
    return target ? [{ group, target, text: textOf(group) }] : [];
  });
  return { ...found, items };
}

/**
 * Everybody in a group whose reaction still stands, newest first: those who joined at numbers from
 * `from` to `to`. Refusals: TARGET_NOT_FOUND, also for a target of somebody else, INVALID_REQUEST
 * for a bad cursor.
 */
export async function listNotificationActors(
  deps: Pick<Deps, "reader" | "owners">,
  { ownerId, target, kind }: NotificationName,
  notified: { readonly from: number; readonly to: number },
  page: PageRequest,
): Promise<Page<Reaction>> {
  await checkOwner(deps, target, ownerId);
  // With a cursor the reader answers: it refuses one that no list gave.
  if (notified.to < notified.from && page.cursor === undefined) return { items: [] };
  return deps.reader.reactions({ target, kind, notified }, page);
}
