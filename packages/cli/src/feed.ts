/** The commands about reactions, events and notifications. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  BlockPersonRequestSchema,
  BlockPersonResponseSchema,
  ListMutedPeopleRequestSchema,
  ListNotificationsRequestSchema,
  MarkAllNotificationsReadRequestSchema,
  MarkAllNotificationsReadResponseSchema,
  type Notification,
  NotificationService,
  ListNotificationsRequest_State as State,
  WatchUnreadCountsResponse_UpdateSchema as UpdateSchema,
  type WatchUnreadCountsResponse_Update,
} from "@meguri/client/notifications";
import { type Actor, ReactionService } from "@meguri/client/reactions";
import { answersOf, send, singly } from "./calls.ts";
import { type Commands, lists, runs, says, shows } from "./command.ts";
import { columnsOf, targetText } from "./fields.ts";
import { follow } from "./follow.ts";
import { cause, eventId, regroupAfter, targetHelp } from "./options.ts";
import { line } from "./output.ts";
import type { Session } from "./session.ts";

const { method } = NotificationService;

const owner = "<owner> = ownerId: the user who is notified";
const target = `<target> = targetName: ${targetHelp}`;

const notificationColumns = [
  "time: updateTime, read: readTime, kind, target: target.targetName, actors: actorCount",
  "latest: latestActors.displayName, title: target.title, events: eventCount, id: notificationId",
];

const listOfNotifications = lists<Notification>(method.listNotifications, {
  summary: "list the notifications of a user, or watch the unread count",
  description:
    "Lists the notifications of a user, the latest first. With --watch it prints the unread " +
    "count now and after every change, until Ctrl-C.",
  takes: [
    owner,
    ["--unread = state: only those that are not read", { on: State.UNREAD }],
    "--reactions <kinds...> = reactionKinds: only reactions of these kinds",
    "--events <kinds...> = eventKinds: only events of these kinds",
    "--watch: watch the unread count",
  ],
  examples: ["meguri notifications alice --unread", "meguri notifications alice --watch"],
  columns: notificationColumns,
});

const countColumns = columnsOf<WatchUnreadCountsResponse_Update>(UpdateSchema, [
  { time: () => timestampNow() },
  "actors: unreadCount.actorCount, notifications: unreadCount.notificationCount",
  "unseen: unreadCount.unseenNotificationCount, version: unreadCount.version",
]);

/** The inputs and the example of a command about one notification. */
const ofNotification = (name: string) => ({
  takes: [owner, "<notification-id> = notificationId: the notification"] as const,
  examples: [`meguri notification ${name} alice WyJhbGljZSJd`],
});

export const feed: Commands = {
  like: says(ReactionService.method.react, {
    summary: "like a target as a user",
    description:
      "Sets a user's like. Liking twice is one like, with the latest name. The owner is notified.",
    takes: [
      "<user> = userId: the user who likes",
      target,
      ["--name <name> = displayName: the user's name as the owner sees it", { isRequired: true }],
      "--cool-down <time> = coolDown: how long after the owner has read an earlier like nobody " +
        "is notified; 0 by default",
      regroupAfter,
    ],
    examples: ["meguri like bao post/42 --name Bao"],
    text: reacted("likes", "liked already"),
  }),

  unlike: says(ReactionService.method.unreact, {
    summary: "remove the like of a user",
    description: "Deletes a user's like, also from an unread notification.",
    takes: ["<user> = userId: the user who liked", target],
    examples: ["meguri unlike bao post/42"],
    text: reacted("no longer likes", "did not like"),
  }),

  notify: says(method.notify, {
    summary: "notify users of an event",
    description:
      "Notifies the owner of a target of an event, or the users that are named. Without --user " +
      "the event has no actor, and the name is what is displayed, such as an amount.",
    takes: [
      "<kind> = kind: the kind of event, such as comment",
      `--target <target> = targetName: ${targetHelp}`,
      "--owner <users...> = ownerIds: the users who are notified; the target's owner by default",
      "--user <user> = userId: the user who has caused the event",
      "--name <name> = displayName: the name of this user, required with --user, or what is " +
        "displayed of the event",
      "--link <link> = link: where a click leads: a URL, or a path that begins with /",
      regroupAfter,
      eventId,
      cause,
    ],
    examples: [
      "meguri notify comment --target post/42 --user bao --name Bao --event-id comment-81",
      "meguri notify delivery --owner alice --name '2 bowls' --link /orders/7",
    ],
    check: ({ target, owner, user, name }) =>
      (!target && !owner && "notify needs --target, --owner or both") ||
      (!!user && !name && "notify needs --name with --user: the name that owners see"),
    text: ({ results }, _, out) =>
      out.table(
        results.map(({ ownerId, notified, replayed, retracted }) => [
          ownerId,
          retracted ? "retracted" : notified ? "unread" : "not unread",
          replayed ? "replayed: an earlier call had notified of it" : "",
        ]),
      ),
  }),

  retract: says(method.retractEvent, {
    summary: "retract an event",
    description:
      "Retracts an event that the calling service has notified of. It leaves the notification, " +
      "read or unread, and the unread count.",
    takes: [
      "<event-id> = eventId: the id of the event",
      `--target <target> = targetName: ${targetHelp}, if its owner was notified`,
      "--owner <users...> = ownerIds: the users who were notified, if they were named",
    ],
    examples: ["meguri retract comment-81 --target post/42"],
    check: ({ target, owner }) =>
      !target && !owner && "retract needs --target, --owner or both, as notify had them",
    text: ({ results }, _, out) =>
      out.table(
        results.map(({ ownerId, changed }) => [ownerId, changed ? "retracted" : "unchanged"]),
      ),
  }),

  notifications: runs(ListNotificationsRequestSchema, {
    ...listOfNotifications,
    run(session, request, values) {
      if (!values.watch) return listOfNotifications.run(session, request, values);
      const watches = [{ ownerId: request.ownerId }];
      const counts = follow(session, (options) =>
        session.meguri.watchUnreadCounts(watches, options),
      );
      return session.out.list(UpdateSchema, singly(counts), countColumns);
    },
  }),

  notification: {
    summary: "show, read and dismiss one notification",
    description: "Shows and changes one notification. meguri notifications lists their ids.",
    commands: {
      show: shows<Notification>(method.getNotification, {
        summary: "show one notification",
        description: "Shows a notification, unread or read.",
        ...ofNotification("show"),
        lines: notificationColumns,
        more: ({ latestEvents }) =>
          latestEvents.map(({ displayName, link }) => ["event", displayName, link]),
      }),
      actors: lists<Actor>(method.listNotificationActors, {
        summary: "list who is in one notification",
        description: "Lists the actors of a notification, newest first; of events one for each.",
        ...ofNotification("actors"),
        columns: ["user: userId, name: displayName"],
      }),
      read: says(method.markNotificationRead, {
        summary: "mark one notification as read",
        description: "Marks those as read who are in the notification now.",
        ...ofNotification("read"),
        prepare: setVersion,
        text: marked("read", "read already"),
      }),
      "read-all": runs(MarkAllNotificationsReadRequestSchema, {
        summary: "mark all notifications of a user as read",
        description:
          "Marks as read what is unread now, the oldest first, up to 512 notifications a call. " +
          "Prints after each call how many are read.",
        takes: [owner],
        examples: ["meguri notification read-all alice"],
        async run(session, { ownerId }) {
          const { unreadCount } = await send(session, method.getUnreadCount, { ownerId });
          // An owner whom nothing has happened to has the version 0, which no mark may have.
          const request = { ownerId, version: unreadCount?.version || 1n };
          let count = 0n;
          for await (const answer of answersOf(session, method.markAllNotificationsRead, request)) {
            count += answer.markedCount;
            await session.out.message(MarkAllNotificationsReadResponseSchema, answer, () =>
              line(`${count} read; ${answer.unreadCount?.notificationCount} unread`),
            );
          }
        },
      }),
      unread: says(method.markNotificationUnread, {
        summary: "mark one notification as unread again",
        description: "Marks a read notification as unread again.",
        ...ofNotification("unread"),
        text: marked("unread again", "unread already"),
      }),
      dismiss: says(method.dismissNotification, {
        summary: "dismiss one notification",
        description: "Ends a notification, unread or read. Who comes in meanwhile stays unread.",
        ...ofNotification("dismiss"),
        prepare: setVersion,
        text: marked("dismissed", "dismissed already"),
      }),
    },
  },

  block: runs(BlockPersonRequestSchema, {
    summary: "mute a person, also in what a user was notified of",
    description:
      "Mutes a person for a user, and takes the person out of all notifications, by calls that " +
      "go through up to 512 of them. After an interruption the same command does the rest.",
    takes: [owner, "<user> = userId: the person"],
    examples: ["meguri block alice mallory"],
    async run(session, request) {
      let isChanged = false;
      for await (const answer of answersOf(session, method.blockPerson, request)) {
        isChanged ||= answer.changed;
        await session.out.message(BlockPersonResponseSchema, answer, ({ nextPageToken }) =>
          nextPageToken === ""
            ? line(`${request.ownerId} ${isChanged ? "has" : "had"} blocked ${request.userId}`)
            : "",
        );
      }
    },
  }),

  muted: runs(ListMutedPeopleRequestSchema, {
    summary: "list the people and targets that a user has muted",
    description: "Lists whom and what a user has muted: the people, then the targets.",
    takes: [owner],
    examples: ["meguri muted alice"],
    async run(session, { ownerId }) {
      const { out } = session;
      for await (const { userIds } of answersOf(session, method.listMutedPeople, { ownerId })) {
        for (const userId of userIds) await out.value({ userId }, out.table([["person", userId]]));
      }
      for await (const { targets } of answersOf(session, method.listMutedTargets, { ownerId })) {
        for (const { targetName, title } of targets) {
          const { type = "", id = "" } = targetName ?? {};
          const text = out.table([["target", targetText({ type, id }), title]]);
          await out.value({ targetName: { type, id }, title }, text);
        }
      }
    },
  }),
};

/** The sentence about a reaction, by whether it has changed. */
function reacted(changedText: string, unchangedText: string) {
  return (
    { changed, reactionCount }: { changed: boolean; reactionCount: bigint },
    {
      userId,
      targetName,
    }: { userId: string; targetName?: { type: string; id: string } | undefined },
  ): string => {
    const name = targetName ? targetText(targetName) : "";
    const done = changed ? changedText : unchangedText;
    return line(`${userId} ${done} ${name}, likes: ${reactionCount}`);
  };
}

/** The sentence about a notification, by whether it has changed. */
function marked(changedText: string, unchangedText: string) {
  return (answer: {
    changed: boolean;
    unreadCount?: { notificationCount: bigint } | undefined;
  }): string => {
    const count = answer.unreadCount?.notificationCount ?? 0n;
    return line(`${answer.changed ? changedText : unchangedText}; ${count} unread`);
  };
}

/** Names the version of the notification now. Who comes in after it stays unread. */
async function setVersion(
  session: Session,
  request: { ownerId: string; notificationId: string; version: bigint },
): Promise<boolean> {
  const { ownerId, notificationId } = request;
  const { notification } = await send(session, method.getNotification, { ownerId, notificationId });
  request.version = notification?.version ?? 0n;
  return true;
}
