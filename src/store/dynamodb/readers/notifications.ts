/** Reads lists of unread and read groups, and many inboxes at once. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { NotificationReader } from "../../../app/ports/notifications.ts";
import { inBatches } from "../../../app/ports/pages.ts";
import { inboxRef } from "../../../app/ports/records.ts";
import type { Inbox } from "../../../domain/notification.ts";
import { inboxKey, readGroup, readGroupsKey, unreadGroup } from "../codecs/notifications.ts";
import { readLimit, readMany } from "../item-store.ts";
import { N } from "../sdk/attributes.ts";
import { orUnavailable } from "../sdk/client.ts";
import { query } from "../sdk/query-pages.ts";
import { byLastIndex, type TableName } from "../tables.ts";

export function notificationReads(
  client: DynamoDBClient,
  tableName: TableName,
): NotificationReader {
  const notifications = tableName("notifications");
  return {
    unreadGroups: (ownerId, newestFirst, page) =>
      query(client, page, unreadGroup.decode, {
        TableName: notifications,
        IndexName: byLastIndex,
        ConsistentRead: true,
        ScanIndexForward: !newestFirst,
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": inboxKey(ownerId) },
      }),

    readGroups: (ownerId, now, page) =>
      query(client, page, readGroup.decode, {
        TableName: notifications,
        ConsistentRead: true,
        ScanIndexForward: false,
        KeyConditionExpression: "pk = :o",
        FilterExpression: "x > :now",
        ExpressionAttributeValues: { ":o": readGroupsKey(ownerId), ":now": N(now) },
      }),

    async inboxes(ownerIds) {
      const distinct = [...new Set(ownerIds)];
      const loaded = await Promise.all(
        inBatches(distinct.map(inboxRef), readLimit).map((refs) =>
          orUnavailable(readMany(client, tableName, refs, false)),
        ),
      );
      const found = loaded.flat().map(({ value }) => value as Inbox | undefined);
      return new Map(
        distinct.flatMap((ownerId, i) => {
          const inbox = found[i];
          return inbox ? [[ownerId, inbox] as const] : [];
        }),
      );
    },
  };
}
