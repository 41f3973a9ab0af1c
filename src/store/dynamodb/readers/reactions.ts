/** Reads lists of reactions and of pending purges. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { ReactionReader } from "../../../app/ports/reactions.ts";
import { pendingPurge, pendingPurgesKey, reactionsKey } from "../codecs/reactions.ts";
import { activeReaction, notifiedIn } from "../group-members.ts";
import { query } from "../sdk/query-pages.ts";
import { byPersonIndex, byVersionIndex } from "../tables.ts";

export function reactionReads(client: DynamoDBClient, reactions: string): ReactionReader {
  return {
    reactions: ({ target, kind, notified }, page) =>
      query(client, page, activeReaction, {
        TableName: reactions,
        ScanIndexForward: false,
        ...(notified
          ? notifiedIn(target, kind, notified.from, notified.to)
          : {
              IndexName: byVersionIndex,
              ConsistentRead: true,
              KeyConditionExpression: "pk = :p",
              ExpressionAttributeValues: { ":p": reactionsKey(target, kind) },
            }),
      }),

    reactionsOfUser: (userId, page) =>
      query(client, page, activeReaction, {
        TableName: reactions,
        IndexName: byPersonIndex,
        ScanIndexForward: false,
        KeyConditionExpression: "sk = :u",
        ExpressionAttributeValues: { ":u": { S: userId } },
      }),

    pendingPurges: (page) =>
      query(client, page, pendingPurge.decode, {
        TableName: reactions,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": pendingPurgesKey },
      }),
  };
}
