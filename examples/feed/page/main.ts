/**
 * The page of one person, `/?person=member-1001`: the badge, which a stream keeps current, the
 * notifications, and comments of the person on somebody's post. See docs/call/notifications.md.
 */
import { watchBadges } from "../../watch-badges.ts";
import { showComments } from "./comments.ts";
import { button, byId, showProblem } from "./dom.ts";
import { createFeed } from "./feed.ts";
import { signIn } from "./session.ts";
import { locale, text } from "./words.ts";

/** The largest count of unseen notifications, which stands for this many or more. */
const mostUnseen = 99n;

async function main(): Promise<void> {
  const personId = new URLSearchParams(location.search).get("person") ?? "";
  const { name, notifications } = await signIn(personId);
  document.documentElement.lang = locale;
  document.title = text.notifications;
  byId("person").textContent = name;
  showComments(personId);
  const feed = createFeed(notifications, personId);
  byId("badge").before(button("open", text.notifications, feed.open));
  const show = (_: string, count: { unseenNotificationCount: bigint; version: bigint }) => {
    byId("badge").textContent = badgeText(count.unseenNotificationCount);
    feed.refresh();
  };
  await watchBadges(notifications, [personId], show, new AbortController().signal);
}

function badgeText(unseen: bigint): string {
  if (unseen === 0n) return "";
  return unseen < mostUnseen ? String(unseen) : `${mostUnseen}+`;
}

main().catch(showProblem);
