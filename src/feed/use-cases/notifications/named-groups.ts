/** Finds the group that a notification_id names, unread or read. */

import type { Instant } from "../../../platform/words/month.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Deps } from "../../ports/deps.ts";
import { closedGroupRef, inboxRef, readGroupRef, unreadGroupRef } from "../../ports/records.ts";
import type { StoredKind } from "../../rules/kinds.ts";
import type { ReadGroup, UnreadGroup } from "../../rules/unread-group.ts";

/** Names the group in which members join now. */
export interface UnreadName {
  readonly ownerId: string;
  readonly target: TargetName;
  readonly kind: StoredKind;
}

/** Names one group for ever, unread and read. */
export interface GroupName extends UnreadName {
  readonly generation: number;
}

/**
 * Finds a group by its name. Undefined if it has ended or expired. Two plain reads may see the half
 * of a mark as read: the unread group deleted, the read one not yet written. So what they do not
 * find is read once more by the engine, at one moment, with the closed group.
 */
export async function findGroup(
  { reader, engine, clock }: Pick<Deps, "reader" | "engine" | "clock">,
  { ownerId, target, kind, generation }: GroupName,
): Promise<UnreadGroup | ReadGroup | undefined> {
  const unreadRef = unreadGroupRef(ownerId, target, kind);
  const closedRef = closedGroupRef(ownerId, target, kind, generation);
  const readRef = readGroupRef(ownerId, target, kind, generation);
  const { wall } = await clock.now();
  const unread = (await reader.get(unreadRef))?.value;
  if (unread?.generation === generation) return unread;
  const read = (await reader.get(readRef))?.value;
  if (read) return unlessExpired(read, wall);
  return engine.transact({
    key: inboxRef(ownerId),
    readSet: [unreadRef, closedRef, readRef],
    expectAbsent: [],
    call: undefined,
    decide(tx, now) {
      const open = tx.get(unreadRef);
      if (open?.generation === generation) return open;
      return tx.get(closedRef) ?? unlessExpired(tx.get(readRef), now.wall);
    },
  });
}

const unlessExpired = (group: ReadGroup | undefined, now: Instant): ReadGroup | undefined =>
  group && group.expireTime > now ? group : undefined;
