/**
 * The deliberate breaks of the contract, each with its reason; `breaking.ts` permits them. An entry
 * goes once `main` has the change: the check then prints "no longer needed".
 */
import type { BreakingException } from "./contract-breaks.ts";

const notification = "proto/meguri/notifications/v1/notification.proto";
const notificationService = "proto/meguri/notifications/v1/notification_service.proto";
const target = "proto/meguri/reactions/v1/target.proto";

/** All breaks of November 2026 were made before the first service depended on these messages. */
export const breakingExceptions: readonly BreakingException[] = [
  {
    rules: ["FIELD_NO_DELETE", "PACKAGE_MESSAGE_NO_DELETE"],
    file: notification,
    message: /"text" on message "Notification"|"Notification\.Text"/,
    reason:
      "first_actors and people_count say the same, and have the ids of the people as well: " +
      "clients make the sentence of them, in their own language",
  },
  {
    rules: ["FIELD_NO_DELETE"],
    file: notification,
    message: /"first_version" on message "Notification"/,
    reason: "only ListNotificationActors took it, which now takes the notification's name",
  },
  {
    rules: ["FIELD_NO_DELETE"],
    file: notificationService,
    message: /"(owner_id|target|kind)" on message "MarkNotificationReadRequest"/,
    reason: "the notification's name replaces the fields that clients copied from it",
  },
  {
    rules: ["FIELD_NO_DELETE"],
    file: notificationService,
    message:
      /"(owner_id|target|kind|first_version|version)" on message "ListNotificationActorsRequest"/,
    reason: "the notification's name replaces the fields that clients copied from it",
  },
  {
    rules: ["RPC_NO_DELETE", "PACKAGE_MESSAGE_NO_DELETE", "PACKAGE_ENUM_NO_DELETE"],
    file: notificationService,
    message: /"WatchNotifications(Request|Response|Response\.EndReason)?"/,
    reason:
      "WatchUnreadCount replaces it: it sends counts and no notifications, of one owner or of up " +
      "to 100, and its end has the delay after which the client opens it again",
  },
  {
    rules: ["FIELD_NO_DELETE"],
    file: target,
    message: /"deleted" on message "Target"/,
    reason: "delete_time replaces it, which is set when the target is deleted (AIP-164)",
  },
];
