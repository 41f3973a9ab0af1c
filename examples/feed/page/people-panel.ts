/** Who is in a notification, newest first, and by which event. */
import type { Event } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import type { Actor } from "../../../src/gen/meguri/reactions/v1/actor_pb.ts";
import { button, element, linked } from "./dom.ts";
import type { NotificationClient } from "./session.ts";
import { locale, text } from "./words.ts";

/** Makes the list with its first page; a button at its end reads each further page. */
export async function peoplePanel(
  notifications: NotificationClient,
  ownerId: string,
  notificationId: string,
  block: (userId: string) => Promise<void>,
): Promise<HTMLElement> {
  const list = element("ul", "people");
  const readPage = async (pageToken: string) => {
    const request = { ownerId, notificationId, pageToken };
    const page = await notifications.listNotificationActors(request);
    for (const [i, actor] of page.actors.entries()) {
      const item = personItem(actor, page.events[i]);
      const blockThis = () => block(actor.userId);
      if (actor.userId) item.append(" ", button("block", text.block, blockThis));
      list.append(item);
    }
    if (page.nextPageToken === "") return;
    const more = button("more-people", text.more, async () => {
      await readPage(page.nextPageToken);
      more.remove();
    });
    list.append(more);
  };
  await readPage("");
  return list;
}

function personItem(actor: Actor, event: Event | undefined): HTMLElement {
  const name = element("bdi", "", actor.displayName);
  if (!event?.createTime) return element("li", "person", name);
  const time = new Date(Number(event.createTime.seconds) * 1_000).toLocaleString(locale);
  return element("li", "person", linked(event.link, name, ` ${time}`));
}
