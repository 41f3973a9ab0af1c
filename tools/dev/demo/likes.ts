/** Plays likes, the badge that they give, and a mark that leaves a later like unread. */
import type { Notification } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import type { Embedded } from "./embedded.ts";

const targetName = { type: "review", id: "green-tea" };
const ownerId = "aoi";
const title = "Green tea, 100 g";

/** Returns whether every badge was right. */
export async function playLikes(stack: Embedded, say: (line: string) => void): Promise<boolean> {
  const { reactions, notifications } = stack;
  await reactions.registerTarget({ targetName, ownerId, title });
  const like = (userId: string, displayName: string) =>
    reactions.react({ targetName, userId, displayName });
  for (const name of ["Ben", "Chika", "Dan"]) await like(name.toLowerCase(), name);
  await like("dan", "Dan");
  const [badge, shown] = await unread(stack);
  say(`badge ${badge}: ${sentence(shown)} (Dan has liked it twice, which counts once)`);

  await like("emi", "Emi");
  const { notificationId = "", version = 0n } = shown ?? {};
  await notifications.markNotificationRead({ ownerId, notificationId, version });
  const [left, later] = await unread(stack);
  say(`Emi likes it while ${ownerId} reads; marked as read up to what was shown`);
  say(`badge ${left}: ${sentence(later)}`);
  return badge === 3n && left === 1n && later?.firstActors[0]?.displayName === "Emi";
}

/** The badge, and the newest unread notification. */
async function unread({ notifications }: Embedded) {
  const { unreadCount } = await notifications.getUnreadCount({ ownerId });
  const { notifications: list } = await notifications.listNotifications({ ownerId });
  return [unreadCount?.actorCount, list.find(({ readTime }) => !readTime)] as const;
}

function sentence(notification: Notification | undefined): string {
  if (!notification) return "nothing unread";
  const { firstActors, actorCount, target } = notification;
  const names = firstActors.map(({ displayName }) => displayName);
  const others = Number(actorCount) - 1;
  const people = others < 2 ? names.join(" and ") : `${names[0]} and ${others} others`;
  return `${people} liked “${target?.title}”`;
}
