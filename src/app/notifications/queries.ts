/** The use cases that list notifications and their actors. */
import { type ReadGroup, textOf, type UnreadGroup } from "../../domain/notification.ts";
import type { Reaction, Target } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { targetRef } from "../ports/records.ts";
import { checkOwner } from "../reactions/targets.ts";
import type { NotificationName } from "./commands.ts";

/** A group with its target and its text. */
export interface Notification {
  readonly group: UnreadGroup | ReadGroup;
  /** The current target; a tombstone if it was deleted. */
  readonly target: Target;
  readonly text: ReturnType<typeof textOf>;
}

/**
 * Lists an owner's notifications by the version of their latest reaction, newest first. Refusal:
 * INVALID_REQUEST for a bad cursor.
 */
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
 * Lists the active notified reactions with versions from `from` to `to`, newest first. Refusals:
 * TARGET_NOT_FOUND, also for a target of another owner, INVALID_REQUEST for a bad cursor.
 */
export async function listNotificationActors(
  deps: Pick<Deps, "reader" | "owners">,
  { ownerId, target, kind }: NotificationName,
  notified: { readonly from: number; readonly to: number },
  page: PageRequest,
): Promise<Page<Reaction>> {
  await checkOwner(deps, target, ownerId);
  // A page with a cursor is always read, because the reader validates the cursor.
  if (notified.to < notified.from && page.cursor === undefined) return { items: [] };
  return deps.reader.reactions({ target, kind, notified }, page);
}
