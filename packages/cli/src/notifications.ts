/** The command that lists the notifications of an owner, or watches the unread count. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  type Notification,
  NotificationSchema,
  ListNotificationsRequest_State as State,
  type WatchUnreadCountsResponse_Update,
  WatchUnreadCountsResponse_UpdateSchema,
} from "@meguri/client/notifications";
import { type AddCommand, examples } from "./action.ts";
import type { Columns } from "./output.ts";
import { pagesOf, singly } from "./pages.ts";

export const addNotifications: AddCommand = (parent, inSession) => {
  parent
    .command("notifications")
    .summary("list the notifications of a user, or watch the unread count")
    .description(
      "Lists the notifications of a user, the latest first. With --watch it prints the unread " +
        "count now and after every change, until Ctrl-C.",
    )
    .argument("<owner>", "the user who is notified")
    .option("--unread", "only those that are not read")
    .option("--reactions <kinds...>", "only reactions of these kinds")
    .option("--events <kinds...>", "only events of these kinds")
    .option("--watch", "watch the unread count")
    .addHelpText(
      "after",
      examples("meguri notifications alice --unread", "meguri notifications alice --watch"),
    )
    .action(
      inSession(async ({ meguri, out, call }, ownerId, options) => {
        if (options.watch) {
          const counts = singly(meguri.watchUnreadCounts([{ ownerId }], call));
          await out.list(WatchUnreadCountsResponse_UpdateSchema, counts, countColumns);
          return;
        }
        const state = options.unread ? State.UNREAD : State.UNSPECIFIED;
        const { reactions: reactionKinds = [], events: eventKinds = [] } = options;
        const pages = pagesOf(async ({ pageToken }) => {
          const request = { ownerId, state, pageSize: 100, pageToken, reactionKinds, eventKinds };
          const answer = await meguri.notifications.listNotifications(request, call);
          return [answer.notifications, answer.nextPageToken];
        });
        await out.list(NotificationSchema, pages, notificationColumns);
      }),
    );
};

export const notificationColumns: Columns<Notification> = {
  time: ({ updateTime }) => updateTime,
  read: ({ readTime }) => readTime,
  kind: ({ kind }) => kind,
  target: ({ target }) => target?.targetName && `${target.targetName.type}/${target.targetName.id}`,
  actors: ({ actorCount }) => actorCount,
  latest: ({ latestActors }) => latestActors.map(({ displayName }) => displayName).join(", "),
  title: ({ target }) => target?.title,
  events: ({ eventCount }) => eventCount,
  id: ({ notificationId }) => notificationId,
};

const countColumns: Columns<WatchUnreadCountsResponse_Update> = {
  time: () => timestampNow(),
  actors: ({ unreadCount }) => unreadCount?.actorCount,
  notifications: ({ unreadCount }) => unreadCount?.notificationCount,
  unseen: ({ unreadCount }) => unreadCount?.unseenNotificationCount,
  version: ({ unreadCount }) => unreadCount?.version,
};
