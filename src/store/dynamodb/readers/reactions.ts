import { inboxRef, type Reader } from "../../../app/ports/deps.ts";
import type { Inbox } from "../../../domain/notification.ts";
import {
  group,
  history,
  historyKey,
  inboxKey,
  reaction,
  reactionsKey,
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
  "reactions" | "reactionsOfUser" | "unread" | "history" | "inboxes"
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

    reactionsOfUser: (user, page) =>
      query(retrying, page, reaction.decode, {
        TableName: reactions,
        IndexName: byPersonIndex,
        ScanIndexForward: false,
        KeyConditionExpression: "sk = :u",
        ExpressionAttributeValues: { ":u": { S: user } },
      }),

    unread: (owner, newestFirst, page) =>
      query(retrying, page, group.decode, {
        TableName: notifications,
        IndexName: byLastIndex,
        ConsistentRead: true,
        ScanIndexForward: !newestFirst,
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": inboxKey(owner) },
      }),

    history: (owner, now, page) =>
      query(retrying, page, history.decode, {
        TableName: notifications,
        ConsistentRead: true,
        ScanIndexForward: false,
        KeyConditionExpression: "pk = :o",
        FilterExpression: "x > :now",
        ExpressionAttributeValues: { ":o": historyKey(owner), ":now": N(now) },
      }),

    async inboxes(owners) {
      const distinct = [...new Set(owners)];
      const loaded = await Promise.all(
        inBatches(distinct.map(inboxRef), readLimit).map((refs) =>
          orUnavailable(readMany(retrying, tableName, refs, false)),
        ),
      );
      const found = loaded.flat().map(({ value }) => value as Inbox | undefined);
      return new Map(
        distinct.flatMap((owner, i) => {
          const inbox = found[i];
          return inbox ? [[owner, inbox] as const] : [];
        }),
      );
    },
  };
}
