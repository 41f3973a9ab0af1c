/** Reads events, the next event of an actor, and the owners who were notified of events. */
import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { N, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../../platform/dynamodb/sdk/client.ts";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { byVersionIndex } from "../../../platform/dynamodb/tables.ts";
import type { EventReader } from "../../ports/events.ts";
import {
  eventOwner,
  eventOwnersKey,
  eventSortKey,
  eventsKey,
  notificationEvent,
} from "../codecs/events.ts";

/** Above every version that a sort key can hold. */
const maxVersion = 10 ** 15 - 1;

export function eventReads(client: DynamoDBClient, reactions: string): EventReader {
  return {
    events: (name, { from, to }, page) =>
      query(client, page, notificationEvent.decode, {
        TableName: reactions,
        IndexName: byVersionIndex,
        ConsistentRead: true,
        ScanIndexForward: false,
        KeyConditionExpression: "pk = :p AND n BETWEEN :from AND :to",
        ExpressionAttributeValues: { ":p": eventsKey(name), ":from": N(from), ":to": N(to) },
      }),

    async nextEvent(name, userId, version) {
      const command = new QueryCommand({
        TableName: reactions,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p AND sk BETWEEN :from AND :to",
        ExpressionAttributeValues: {
          ":p": eventsKey(name),
          ":from": eventSortKey(userId, version + 1),
          ":to": eventSortKey(userId, maxVersion),
        },
        Limit: 1,
      });
      const { Items: [item] = [] } = await orUnavailable(client.send(command));
      return item && notificationEvent.decode(item);
    },

    eventOwners: (target, page, ownerId = "") =>
      query(client, page, eventOwner.decode, {
        TableName: reactions,
        ConsistentRead: true,
        KeyConditionExpression: `pk = :p${ownerId && " AND begins_with(sk, :o)"}`,
        ExpressionAttributeValues: {
          ":p": eventOwnersKey(target),
          ...(ownerId && { ":o": S(`${ownerId}#`) }),
        },
      }),
  };
}
