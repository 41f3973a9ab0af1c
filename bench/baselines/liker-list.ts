/**
 * A baseline for notifications: the cost of one that keeps the id of every liker in a list. Other
 * items are the same, the index has only the keys of the notification, and a read mark needs no
 * transaction, so that the two differ only by the size of the list.
 */
import { unreadGroupRef } from "../../src/app/ports/records.ts";
import { defaultKind } from "../../src/domain/kinds.ts";
import { toItem } from "../../src/store/dynamodb/codecs/index.ts";
import { type Item, itemWriteUnits } from "../capacity.ts";
import { commentOf, displayName } from "../support/likes.ts";

const { target, ownerId } = commentOf(1);
const userId = "u".repeat(36);

/** A notification of so many likers, whose ids are UUIDs. */
function notification(likers: number): Item {
  const ref = unreadGroupRef(ownerId, target, defaultKind);
  const member = { userId, displayName, version: likers, createTime: Date.now() };
  const group = {
    kind: defaultKind,
    target,
    generation: likers,
    memberCount: likers,
    actorCount: likers,
    firstMembers: [member, member],
    latestMembers: [member, member, member],
    leaveCount: 0,
    leaveTime: 0,
    recent: { after: likers, count: likers, middle: likers, lateCount: likers, middleTime: 0 },
  };
  const ids = Array.from({ length: likers }, () => ({ S: userId }));
  return { ...toItem(ref, group, likers), i: { L: ids } };
}

/**
 * Write units of a like after so many others: reaction (with two indexes), target and inbox; the
 * notification, and two for its key in the index, which changes.
 */
export const likeUnits = (likers: number): number =>
  2 + 2 + 2 + 2 + 2 * itemWriteUnits(notification(likers), notification(likers + 1)) + 2;

/** Write units of a read mark: inbox, and the notification, which leaves the unread index. */
export const markReadUnits = (likers: number): number =>
  itemWriteUnits(notification(likers), notification(likers)) + 1 + 1;
