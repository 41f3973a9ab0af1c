/** Calls every RPC of reactions and notifications. */
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { firstOf, type TourClients } from "./called.ts";

const ownerId = "olga";
const post = (id: string) => ({ type: "post", id });
const target = { targetName: post("one") };
const gone = { targetName: post("gone") };
const person = (userId: string) => ({ userId, displayName: userId.toUpperCase() });

export async function tourReactions({ reactions }: TourClients): Promise<void> {
  await reactions.registerTarget({ ...target, ownerId, title: "A post" });
  await reactions.registerTarget({ ...gone, ownerId });
  for (const userId of ["ann", "bob", "cem"]) {
    await reactions.react({ ...target, kind: "like", ...person(userId) });
    await reactions.react({ ...gone, kind: "like", ...person(userId) });
  }
  await reactions.react({ ...target, kind: "wow", ...person("ann"), exclusive: true });
  await reactions.unreact({ ...target, kind: "like", userId: "bob" });
  await reactions.batchGetReactionSummaries({
    targetNames: [target.targetName, gone.targetName],
    viewerId: "ann",
    includeLatestActors: true,
  });
  await reactions.listTargetReactions({ ...target, kind: "like" });
  await reactions.listUserReactions({ userId: "ann" });
  await reactions.deleteTarget(gone);
}

/** After the reactions: notifications of a post, one of which is read while others come. */
export async function tourNotifications(clients: TourClients): Promise<void> {
  const { notifications, reactions } = clients;
  const owner = { ownerId };
  await firstOf(notifications.watchUnreadCounts({ watches: [owner] }));
  const event = { eventId: "e1", ...target, kind: "comment" };
  await notifications.notify({ ...event, ...person("dee") });
  await notifications.notify({ ...event, eventId: "e2", ...person("eve") });
  await notifications.notify({ ...event, eventId: "e3", ...person("dee") });
  const list = async (state: State) =>
    (await notifications.listNotifications({ ...owner, state })).notifications;
  const [line] = await list(State.UNREAD);
  if (line === undefined) throw new Error("the owner has no notification");
  const { notificationId, version } = line;
  const named = { ...owner, notificationId };
  await notifications.getNotification(named);
  await notifications.listNotificationActors(named);
  await readWhileLiked(clients);
  await readLongAfter(clients);
  await notifications.markNotificationRead({ ...named, version });
  await notifications.markNotificationUnread(named);
  await notifications.dismissNotification({ ...named, version });
  const { unreadCount } = await notifications.getUnreadCount(owner);
  const seen = { ...owner, version: unreadCount?.version ?? 0n };
  await notifications.markNotificationsSeen(seen);
  await notifications.retractEvent({ ...target, eventId: "e2" });
  // There is a later event of the same person.
  await notifications.retractEvent({ ...target, eventId: "e1" });
  await notifications.markAllNotificationsRead(seen);
  await list(State.READ);
  const { preferences } = await notifications.getPreferences(owner);
  await notifications.updatePreferences({
    preferences: { ...owner, mutedKinds: ["sad"], etag: preferences?.etag ?? "" },
    updateMask: { paths: ["muted_kinds"] },
  });
  await notifications.setPersonMuted({ ...owner, userId: "fay", muted: true });
  await notifications.setTargetMuted({ ...owner, ...target, muted: true });
  await notifications.listMutedPeople(owner);
  await notifications.listMutedTargets(owner);
  await notifications.blockPerson({ ...owner, userId: "cem" });
  await reactions.unreact({ ...target, kind: "wow", userId: "ann" });
}

/** So many people that a notification is not read whole, some of them after the read version. */
async function readWhileLiked({ notifications, reactions }: TourClients): Promise<void> {
  const busy = { targetName: post("busy") };
  await reactions.registerTarget({ ...busy, ownerId });
  const like = (n: number) => reactions.react({ ...busy, kind: "like", ...person(`fan-${n}`) });
  for (let n = 0; n < 100; n++) await like(n);
  const { notifications: lines } = await notifications.listNotifications({
    ownerId,
    state: State.UNREAD,
  });
  const line = lines.find(({ target }) => target?.targetName?.id === "busy");
  await reactions.unreact({ ...busy, kind: "like", userId: "fan-99" });
  for (let n = 100; n < 105; n++) await like(n);
  await notifications.markNotificationRead({
    ownerId,
    notificationId: line?.notificationId ?? "",
    version: line?.version ?? 0n,
  });
}

/** Reads lines of reactions and of events as of a time when they had far fewer people. */
async function readLongAfter({ notifications, reactions }: TourClients): Promise<void> {
  const [liked, told] = [{ targetName: post("liked") }, { targetName: post("told") }];
  for (const each of [liked, told]) await reactions.registerTarget({ ...each, ownerId });
  const add = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const by = person(`reader-${n}`);
      await reactions.react({ ...liked, kind: "like", ...by });
      await notifications.notify({ ...told, kind: "comment", eventId: `told-${n}`, ...by });
    }
  };
  await add(0, 20);
  const { notifications: early } = await notifications.listNotifications({
    ownerId,
    state: State.UNREAD,
  });
  await add(20, 160);
  for (const { notificationId, version, target } of early) {
    if (!["liked", "told"].includes(target?.targetName?.id ?? "")) continue;
    await notifications.markNotificationRead({ ownerId, notificationId, version });
  }
}
