/**
 * The events of the notifications of owners, from the groups that are stored of them. A group may
 * move to another item: one that is read to the history, one that takes in nobody new or is unread
 * again to the closed ones. Each item has its own changes in the stream. So the item to which a
 * group has moved says what has happened. From the other item it is gone, as a group that has
 * ended: only the store shows the difference (`withoutMoved`).
 */
import { versionOf } from "../../feed/rules/unread-group.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Change, ChangedRecord, ChangeEvent, RecordOf } from "./change-event.ts";
import { path } from "./event-ids.ts";

type GroupRecord = RecordOf<"unreadGroup"> | RecordOf<"readGroup">;

type NotificationType = Extract<ChangeEvent["type"], `notification.${string}`>;

export const isGroup = (record: ChangedRecord): record is GroupRecord =>
  record.kind === "unreadGroup" || record.kind === "readGroup";

export function notificationEvents(
  { time, isExpiry }: Change,
  before: GroupRecord | undefined,
  after: GroupRecord | undefined,
): readonly ChangeEvent[] {
  // The history ends by itself, which nobody has done.
  if (isExpiry) return [];
  const isSame = before?.value.generation === after?.value.generation;
  const gone = before && !isSame ? [notificationEvent(before, "notification.dismissed", time)] : [];
  if (!after) return gone;
  const type = typeOf(isSame ? before : undefined, after);
  return [...gone, notificationEvent(after, type, time)];
}

/** The event of a group as a table has it. */
export const notificationChanged = (record: GroupRecord, time: Instant): ChangeEvent => {
  const isRead = record.kind === "readGroup";
  return notificationEvent(record, isRead ? "notification.read" : "notification.changed", time);
};

function typeOf(before: GroupRecord | undefined, after: GroupRecord): NotificationType {
  if (after.kind === "readGroup") {
    const isNew = before?.kind !== "readGroup" || before.value.readTime !== after.value.readTime;
    return isNew ? "notification.read" : "notification.changed";
  }
  // A closed group comes from an open one, or from one that was read.
  if (!before) return after.value.closed ? "notification.changed" : "notification.began";
  const hasJoined =
    versionOf(after.value) > versionOf(before.value) ||
    after.value.memberCount > before.value.memberCount;
  return hasJoined ? "notification.joined" : "notification.changed";
}

function notificationEvent(
  record: GroupRecord,
  type: NotificationType,
  time: Instant,
): ChangeEvent {
  const { id, value: group, version } = record;
  const ownerId = id.slice(0, id.indexOf("#"));
  const { kind, target, generation } = group;
  const isGone = type === "notification.dismissed";
  const subject = path("notifications", ownerId);
  const name = path(kind, target.type, target.id, generation, version, ...(isGone ? ["gone"] : []));
  const readTime = record.kind === "readGroup" ? record.value.readTime : undefined;
  return {
    id: `${subject}/${name}`,
    type,
    subject,
    time: type === "notification.read" ? (readTime ?? time) : time,
    data: { kind: "notification", ownerId, version, group, readTime, isGone },
  };
}
