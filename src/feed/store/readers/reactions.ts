/** Reads lists of reactions and of pending purges. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { N, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { cursorOf, query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { byPersonIndex, byVersionIndex } from "../../../platform/dynamodb/tables.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { ReactionReader } from "../../ports/reactions.ts";
import type { StoredKind } from "../../rules/kinds.ts";
import { pendingPurge, pendingPurgesKey, reactionsKey } from "../codecs/reactions.ts";
import { activeReaction, membersIn } from "../group-members.ts";

/** A query for all reactions of one kind to a target, by version. */
const allOf = (target: TargetName, kind: StoredKind) => ({
  IndexName: byVersionIndex,
  ConsistentRead: true,
  KeyConditionExpression: "pk = :p",
  ExpressionAttributeValues: { ":p": reactionsKey(target, kind) },
});

export function reactionReads(client: DynamoDBClient, reactions: string): ReactionReader {
  return {
    reactions: ({ target, kind, notified }, page) =>
      query(client, page, activeReaction, {
        TableName: reactions,
        ScanIndexForward: false,
        ...(notified
          ? membersIn({ target, kind }, notified.from, notified.to)
          : allOf(target, kind)),
      }),

    reactionsOfUser: (userId, page) =>
      query(client, page, activeReaction, {
        TableName: reactions,
        IndexName: byPersonIndex,
        ScanIndexForward: false,
        KeyConditionExpression: "sk = :u",
        // Without `n` it was taken back.
        FilterExpression: "attribute_exists(n)",
        ExpressionAttributeValues: { ":u": { S: userId } },
      }),

    cursorOfUserAfter: ({ target, kind, userId, createTime }) =>
      cursorOf({ pk: reactionsKey(target, kind), sk: S(userId), t: N(createTime) }),

    pendingPurges: (page) =>
      query(client, page, pendingPurge.decode, {
        TableName: reactions,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": pendingPurgesKey },
      }),
  };
}
