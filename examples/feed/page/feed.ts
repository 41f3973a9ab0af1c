/** The list of notifications. Opening it makes them seen; only a click makes one read. */
import type { Notification } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { button, byId, clearProblem, showProblem } from "./dom.ts";
import { notificationItem } from "./notification-item.ts";
import { peoplePanel } from "./people-panel.ts";
import type { NotificationClient } from "./session.ts";
import { text } from "./words.ts";

/** How many notifications the list has at first, and how many more each time. */
const step = 20;

interface Feed {
  /** Shows the latest notifications, which the owner has seen thereby. */
  open(): Promise<void>;
  /** Shows what has changed, if the list is open. */
  refresh(): void;
}

export function createFeed(notifications: NotificationClient, ownerId: string): Feed {
  /** The people that are shown below a notification, by its id, which it never loses. */
  const panels = new Map<string, HTMLElement>();
  let wanted = 0;
  /** The number of reads of the list that have begun, and the latest one that is shown. */
  let begun = 0;
  let shown = 0;

  /** Reads the count first: its version then covers no person whom the list does not show. */
  async function show(): Promise<bigint> {
    const read = ++begun;
    const { unreadCount } = await notifications.getUnreadCount({ ownerId });
    const { listed, isComplete } = await readLatest();
    // A slow read does not replace the list of one that began later.
    if (read < shown) return unreadCount?.version ?? 0n;
    shown = read;
    const items = listed.map((each) =>
      notificationItem(each, panels.get(each.notificationId), actions),
    );
    byId("notifications").replaceChildren(...items);
    byId("empty").textContent = items.length === 0 ? text.empty : "";
    byId("more").replaceChildren(...(isComplete ? [] : [more]));
    return unreadCount?.version ?? 0n;
  }

  /** Reads on while pages are short: one with deleted targets may be. */
  async function readLatest(): Promise<{ listed: Notification[]; isComplete: boolean }> {
    const listed: Notification[] = [];
    let pageToken = "";
    do {
      const request = { ownerId, pageSize: wanted - listed.length, pageToken };
      const page = await notifications.listNotifications(request);
      listed.push(...page.notifications);
      pageToken = page.nextPageToken;
    } while (pageToken !== "" && listed.length < wanted);
    return { listed, isComplete: pageToken === "" };
  }

  const refresh = oneAtATime(async () => {
    if (wanted > 0) await show();
  });

  /** Each call goes through some hundred notifications. */
  async function block(userId: string): Promise<void> {
    let pageToken = "";
    do {
      const answer = await notifications.blockPerson({ ownerId, userId, pageToken });
      pageToken = answer.nextPageToken;
    } while (pageToken !== "");
    panels.clear();
    refresh();
  }

  const actions = {
    async showPeople({ notificationId }: Notification) {
      panels.set(notificationId, await peoplePanel(notifications, ownerId, notificationId, block));
      refresh();
    },
    /** Shows who was in it, by the name that it keeps. Who came later is in another one. */
    async markRead({ notificationId, version }: Notification) {
      const { notification } = await notifications.markNotificationRead({
        ownerId,
        notificationId,
        version,
      });
      if (notification) await actions.showPeople(notification);
      refresh();
    },
    async markUnread({ notificationId }: Notification) {
      await notifications.markNotificationUnread({ ownerId, notificationId });
      refresh();
    },
    /** Who came in after the version that the list shows stays, in another notification. */
    async dismiss({ notificationId, version }: Notification) {
      await notifications.dismissNotification({ ownerId, notificationId, version });
      panels.delete(notificationId);
      refresh();
    },
  };

  const more = button("more", text.more, async () => {
    wanted += step;
    refresh();
  });

  return {
    async open() {
      wanted = step;
      const version = await show();
      if (version > 0n) await notifications.markNotificationsSeen({ ownerId, version });
    },
    refresh,
  };
}

/** Returns a function that runs the work, or has it run once more after the present run. */
function oneAtATime(work: () => Promise<void>): () => void {
  let isDue = false;
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (isDue) {
      isDue = false;
      await work().then(clearProblem, showProblem);
    }
    isRunning = false;
  };
  return () => {
    isDue = true;
    if (!isRunning) void run();
  };
}
