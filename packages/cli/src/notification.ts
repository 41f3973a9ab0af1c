/** The commands about one notification, by its id. */
import {
  DismissNotificationResponseSchema,
  GetNotificationResponseSchema,
  MarkNotificationReadResponseSchema,
  MarkNotificationUnreadResponseSchema,
  type Notification,
} from "@meguri/client/notifications";
import { type Actor, ActorSchema } from "@meguri/client/reactions";
import { type AddCommand, examples } from "./action.ts";
import { notificationColumns } from "./notifications.ts";
import type { Cell, Columns } from "./output.ts";
import { pagesOf } from "./pages.ts";
import type { Session } from "./session.ts";

export const addNotification: AddCommand = (parent, inSession) => {
  const notification = parent
    .command("notification")
    .summary("show, read and dismiss one notification")
    .description("Shows and changes one notification. meguri notifications lists their ids.");
  for (const add of [addShow, addActors, addRead, addUnread, addDismiss]) {
    add(notification, inSession);
  }
};

/** What all commands of this file have. */
const command = (parent: Parameters<AddCommand>[0], name: string, summary: string) =>
  parent
    .command(name)
    .summary(summary)
    .argument("<owner>", "the user who is notified")
    .argument("<notification-id>", "the notification")
    .addHelpText("after", examples(`meguri notification ${name} alice WyJhbGljZSJd`));

const addShow: AddCommand = (parent, inSession) => {
  command(parent, "show", "show one notification")
    .description("Shows a notification, unread or read.")
    .action(
      inSession(async ({ meguri, out, call }, ownerId, notificationId) => {
        const answer = await meguri.notifications.getNotification(
          { ownerId, notificationId },
          call,
        );
        await out.message(GetNotificationResponseSchema, answer, ({ notification }) =>
          notification ? out.table(fields(notification)) : "",
        );
      }),
    );
};

const fields = (notification: Notification): Cell[][] => [
  ...Object.entries(notificationColumns).map(([name, cell]) => [name, cell(notification)]),
  ...notification.latestEvents.map((event) => ["event", event.displayName, event.link]),
];

const actorColumns: Columns<Actor> = {
  user: ({ userId }) => userId,
  name: ({ displayName }) => displayName,
};

const addActors: AddCommand = (parent, inSession) => {
  command(parent, "actors", "list who is in one notification")
    .description("Lists the actors of a notification, newest first; of events one for each.")
    .action(
      inSession(async ({ meguri, out, call }, ownerId, notificationId) => {
        const pages = pagesOf(async (page) => {
          const request = { ownerId, notificationId, ...page };
          const answer = await meguri.notifications.listNotificationActors(request, call);
          return [answer.actors, answer.nextPageToken];
        });
        await out.list(ActorSchema, pages, actorColumns);
      }),
    );
};

const addRead: AddCommand = (parent, inSession) => {
  command(parent, "read", "mark one notification as read")
    .description("Marks those as read who are in the notification now.")
    .action(
      inSession(async (session, ownerId, notificationId) => {
        const { meguri, out, call } = session;
        const version = await versionOf(session, ownerId, notificationId);
        const request = { ownerId, notificationId, version };
        const answer = await meguri.notifications.markNotificationRead(request, call);
        await out.message(MarkNotificationReadResponseSchema, answer, (read) => {
          const done = read.changed ? "read" : "read already";
          return `${done}; ${read.unreadCount?.notificationCount ?? 0n} unread\n`;
        });
      }),
    );
};

const addUnread: AddCommand = (parent, inSession) => {
  command(parent, "unread", "mark one notification as unread again")
    .description("Marks a read notification as unread again.")
    .action(
      inSession(async ({ meguri, out, call }, ownerId, notificationId) => {
        const request = { ownerId, notificationId };
        const answer = await meguri.notifications.markNotificationUnread(request, call);
        await out.message(MarkNotificationUnreadResponseSchema, answer, (unread) => {
          const done = unread.changed ? "unread again" : "unread already";
          return `${done}; ${unread.unreadCount?.notificationCount ?? 0n} unread\n`;
        });
      }),
    );
};

const addDismiss: AddCommand = (parent, inSession) => {
  command(parent, "dismiss", "dismiss one notification")
    .description("Ends a notification, unread or read. Who comes in meanwhile stays unread.")
    .action(
      inSession(async (session, ownerId, notificationId) => {
        const { meguri, out, call } = session;
        const version = await versionOf(session, ownerId, notificationId);
        const request = { ownerId, notificationId, version };
        const answer = await meguri.notifications.dismissNotification(request, call);
        await out.message(DismissNotificationResponseSchema, answer, (dismissed) => {
          const done = dismissed.changed ? "dismissed" : "dismissed already";
          return `${done}; ${dismissed.unreadCount?.notificationCount ?? 0n} unread\n`;
        });
      }),
    );
};

/** The version of the notification now. Who comes in after it stays unread. */
async function versionOf(session: Session, ownerId: string, notificationId: string) {
  const { meguri, call } = session;
  const { notification } = await meguri.notifications.getNotification(
    { ownerId, notificationId },
    call,
  );
  return notification?.version ?? 0n;
}
