/** The words of the page itself, in English and Japanese. */
import type { Locale } from "../../notification-text.ts";

const words = {
  en: {
    notifications: "Notifications",
    empty: "No notifications yet",
    who: "Who",
    markRead: "Mark as read",
    markUnread: "Mark as unread",
    dismiss: "Dismiss",
    block: "Block",
    more: "More",
    comment: "Comment",
    delete: "Delete",
  },
  ja: {
    notifications: "お知らせ",
    empty: "お知らせはまだありません",
    who: "メンバー",
    markRead: "既読にする",
    markUnread: "未読に戻す",
    dismiss: "削除",
    block: "ブロック",
    more: "さらに表示",
    comment: "コメント",
    delete: "コメントを削除",
  },
} as const;

/** The language that the address names (`?lang=ja`), or else the browser's. */
export const locale: Locale = (
  new URLSearchParams(location.search).get("lang") ?? navigator.language
).startsWith("ja")
  ? "ja"
  : "en";

export const text = words[locale];
