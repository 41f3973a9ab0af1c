/** Reads lists of unread and read groups, and many inboxes at once. */
import { type AttributeValue, type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { readLimit, readMany } from "../../../platform/dynamodb/item-store.ts";
import { N } from "../../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../../platform/dynamodb/sdk/client.ts";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { byLastIndex, type TableName } from "../../../platform/dynamodb/tables.ts";
import { inBatches } from "../../../platform/ports/pages.ts";
import type { MemberReader, NotificationReader } from "../../ports/notifications.ts";
import { inboxRef, readGroupRef } from "../../ports/records.ts";
import type { Inbox } from "../../rules/inbox.ts";
import {
  mutedPeopleKey,
  mutedPerson,
  mutedTarget,
  mutedTargetsKey,
  readGroup,
  readGroupsKey,
} from "../codecs/notifications.ts";
import { inbox, inboxKey, unreadGroup } from "../codecs/reactions.ts";

/** Above every version of an inbox that a sort key can hold. */
const maxVersion = 10 ** 15 - 1;

export function notificationReads(
  client: DynamoDBClient,
  tableName: TableName,
): Omit<NotificationReader, keyof MemberReader> {
  const notifications = tableName("notifications");
  return {
    unreadGroups: (ownerId, newestFirst, page, before = maxVersion) =>
      query(client, page, unreadGroup.decode, {
        TableName: notifications,
        IndexName: byLastIndex,
        ConsistentRead: true,
        ScanIndexForward: !newestFirst,
        KeyConditionExpression: "pk = :o AND l < :before",
        ExpressionAttributeValues: { ":o": inboxKey(ownerId), ":before": N(before) },
      }),

    readGroups: (ownerId, now, page, before = maxVersion) =>
      query(client, page, readGroup.decode, {
        TableName: notifications,
        IndexName: byLastIndex,
        ConsistentRead: true,
        ScanIndexForward: false,
        KeyConditionExpression: "pk = :o AND l < :before",
        FilterExpression: "x > :now",
        ExpressionAttributeValues: {
          ":o": readGroupsKey(ownerId),
          ":before": N(before),
          ":now": N(now),
        },
      }),

    async readGroupFrom({ ownerId, target, kind }, version) {
      const from = readGroup.key(readGroupRef(ownerId, target, kind, 0).id);
      const to = readGroup.key(readGroupRef(ownerId, target, kind, version).id);
      const command = new QueryCommand({
        TableName: notifications,
        ConsistentRead: true,
        ScanIndexForward: false,
        KeyConditionExpression: "pk = :o AND sk BETWEEN :from AND :to",
        ExpressionAttributeValues: {
          ":o": readGroupsKey(ownerId),
          ":from": from.sk as AttributeValue,
          ":to": to.sk as AttributeValue,
        },
        Limit: 1,
      });
      const { Items: [item] = [] } = await orUnavailable(client.send(command));
      return item && readGroup.decode(item);
    },

    mutedPeople: (ownerId, page) =>
      query(client, page, mutedPerson.decode, {
        TableName: notifications,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": mutedPeopleKey(ownerId) },
      }),

    mutedTargets: (ownerId, page) =>
      query(client, page, mutedTarget.decode, {
        TableName: notifications,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": mutedTargetsKey(ownerId) },
      }),

    async inboxes(ownerIds) {
      const distinct = [...new Set(ownerIds)];
      const loaded = await Promise.all(
        inBatches(distinct.map(inboxRef), readLimit).map((refs) =>
          orUnavailable(readMany(client, tableName, { inbox }, refs, false)),
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
