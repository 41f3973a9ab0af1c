/**
 * What the same would cost if the notification kept the id of every liker in one list: the other
 * items as ours, the index with the keys of the notification alone, and marking as read without a
 * transaction, so that nothing is held against the list but its size.
 */
import { unreadGroupRef } from "../../src/app/ports/records.ts";
import { defaultKind } from "../../src/domain/target.ts";
import { toItem } from "../../src/store/dynamodb/codecs/index.ts";
import { type Item, itemWriteUnits } from "../capacity.ts";
import { commentOf } from "../support/likes.ts";

const { target, ownerId } = commentOf(1);
const actor = { userId: "u".repeat(36), actorName: "n".repeat(13) };

/** A notification of so many likers, whose ids are UUIDs. */
function notification(likers: number): Item {
  const ref = unreadGroupRef(ownerId, target, defaultKind);
  const group = {
    kind: defaultKind,
    target,
    firstVersion: 1,
    version: likers,
    peopleCount: likers,
    firstActors: [actor, actor],
    latestActors: [actor, actor, actor],
    createTime: Date.now(),
    updateTime: Date.now(),
  };
  const ids = Array.from({ length: likers }, () => ({ S: actor.userId }));
  return { ...toItem(ref, group, likers), i: { L: ids } };
}

/**
 * Write units of the like that comes after so many: reaction (with two indexes), target and inbox;
 * the notification, and two for its key in the index, which moves.
 */
export const likeUnits = (likers: number): number =>
  2 + 2 + 2 + 2 + 2 * itemWriteUnits(notification(likers), notification(likers + 1)) + 2;

/** Write units of a read mark: inbox, and the notification, which leaves the unread index. */
export const markReadUnits = (likers: number): number =>
  itemWriteUnits(notification(likers), notification(likers)) + 1 + 1;
