/** One notification of the list: its sentence, and what its owner can do with it. */
import type { Notification } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { linkOf, sentence } from "../../notification-text.ts";
import { button, element, isolated, linked } from "./dom.ts";
import { locale, text } from "./words.ts";

type Action = (notification: Notification) => Promise<void>;

interface Actions {
  readonly showPeople: Action;
  readonly markRead: Action;
  readonly markUnread: Action;
  readonly dismiss: Action;
}

/** Makes the item. The people stand below the sentence where there is a list of them. */
export function notificationItem(
  notification: Notification,
  people: HTMLElement | undefined,
  { showPeople, markRead, markUnread, dismiss }: Actions,
): HTMLLIElement {
  const isUnread = notification.readTime === undefined;
  const words = isolated(sentence(notification, locale));
  const add = (name: string, label: string, act: Action) =>
    item.append(button(name, label, () => act(notification)));
  const item = element(
    "li",
    isUnread ? "unread" : "read",
    linked(linkOf(notification), ...words),
    " ",
  );
  item.dataset.id = notification.notificationId;
  add("who", text.who, showPeople);
  if (isUnread) add("mark-read", text.markRead, markRead);
  else add("mark-unread", text.markUnread, markUnread);
  add("dismiss", text.dismiss, dismiss);
  if (people) item.append(people);
  return item;
}
