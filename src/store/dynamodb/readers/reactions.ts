import { inboxRef, type Reader } from "../../../app/ports/deps.ts";
import type { Inbox } from "../../../domain/notification.ts";
import {
  inboxKey,
  reaction,
  reactionsKey,
  readGroup,
  readGroupsKey,
  unreadGroup,
} from "../codecs/reactions.ts";
import { notifiedIn } from "../group-members.ts";
import { readLimit, readMany } from "../item-store.ts";
import { N } from "../sdk/attributes.ts";
import { inBatches } from "../sdk/batch-requests.ts";
import { type Clients, orUnavailable } from "../sdk/client.ts";
import { query } from "../sdk/query-pages.ts";
import { byLastIndex, byNumberIndex, byPersonIndex, type TableName } from "../tables.ts";

type ReactionReads = Pick<
  Reader,
  "reactions" | "reactionsOfUser" | "unreadGroups" | "readGroups" | "inboxes"
>;

/** The reads of reactions and notifications. */
export function reactionReads({ retrying }: Clients, tableName: TableName): ReactionReads {
  const reactions = tableName("reactions");
  const notifications = tableName("notifications");
  return {
    reactions: ({ target, kind, notified }, page) =>
      query(retrying, page, reaction.decode, {
        TableName: reactions,
        ScanIndexForward: false,
        ...(notified
          ? notifiedIn(target, kind, notified.from, notified.to)
          : {
              IndexName: byNumberIndex,
              ConsistentRead: true,
              KeyConditionExpression: "pk = :p",
              ExpressionAttributeValues: { ":p": reactionsKey(target, kind) },
            }),
      }),

    reactionsOfUser: (userId, page) =>
      query(retrying, page, reaction.decode, {
        TableName: reactions,
        IndexName: byPersonIndex,
        ScanIndexForward: false,
        KeyConditionExpression: "sk = :u",
        ExpressionAttributeValues: { ":u": { S: userId } },
      }),

    unreadGroups: (ownerId, newestFirst, page) =>
      query(retrying, page, unreadGroup.decode, {
        TableName: notifications,
        IndexName: byLastIndex,
        ConsistentRead: true,
        ScanIndexForward: !newestFirst,
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": inboxKey(ownerId) },
      }),

    readGroups: (ownerId, now, page) =>
      query(retrying, page, readGroup.decode, {
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
          orUnavailable(readMany(retrying, tableName, refs, false)),
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
