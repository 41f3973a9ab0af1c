/**
 * The plain way to like: the same RPC path, tables and indexes, and one transaction of the same
 * four items for each like, which adds to counts in place instead of checking versions. Nobody can
 * number the likes of an owner or count unread groups that way, so they go by time.
 */
import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import type { ServiceImpl } from "@connectrpc/connect";
import { groupRef, inboxRef, type Ref, reactionRef, targetRef } from "../../src/app/ports/deps.ts";
import { defaultKind, type TargetName } from "../../src/domain/reaction.ts";
import { ReactionService } from "../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { reactionService } from "../../src/rpc/reactions/service.ts";
import { interceptors } from "../../src/rpc/server/interceptors.ts";
import { codecOf } from "../../src/store/dynamodb/codecs/index.ts";
import { tableName } from "../../src/store/dynamodb/tables.ts";
import { commit, config, deps, log, serve } from "../support/plain-way.ts";

const name = tableName(config.tablePrefix);

interface Like {
  readonly target: TargetName;
  readonly owner: string;
  readonly kind: string;
  readonly user: string;
  readonly actorName: string;
}

const react: ServiceImpl<typeof ReactionService>["react"] = async (request) => {
  const { type, id } = request.target as TargetName;
  const target = { type, id };
  const owner = await deps.owners.of(target);
  const { userId: user, actorName } = request;
  const like = { target, owner, kind: request.kind || defaultKind, user, actorName };
  await commit(owner, itemsOf(like, Date.now()));
  return { changed: true, reactionCount: 0n };
};

function itemsOf({ target, owner, kind, user, actorName }: Like, now: number): TransactWriteItem[] {
  const time = { N: String(now) };
  const one = { ":one": { N: "1" } };
  const actor = { L: [{ S: user }, { S: actorName }] };
  const row = reactionRef(target, kind, user);
  return [
    {
      Put: {
        TableName: name("reactions"),
        Item: {
          ...codecOf("reaction").key(row.id),
          a: { S: actorName },
          n: time,
          t: time,
          v: { N: "1" },
        },
        ConditionExpression: "attribute_not_exists(pk)",
      },
    },
    {
      Update: {
        ...itemOf(targetRef(target)),
        UpdateExpression: "SET k.#k = if_not_exists(k.#k, :none) + :one",
        ConditionExpression: "attribute_exists(pk) AND attribute_not_exists(d)",
        ExpressionAttributeNames: { "#k": kind },
        ExpressionAttributeValues: { ...one, ":none": { N: "0" } },
      },
    },
    {
      Update: {
        ...itemOf(groupRef(owner, target, kind)),
        UpdateExpression:
          "SET l = :t, m = :t, z = :a, f = if_not_exists(f, :t), c = if_not_exists(c, :t), " +
          "a = if_not_exists(a, :a) ADD p :one",
        ExpressionAttributeValues: { ...one, ":t": time, ":a": actor },
      },
    },
    {
      Update: {
        ...itemOf(inboxRef(owner)),
        UpdateExpression: "ADD n :one, p :one",
        ExpressionAttributeValues: one,
      },
    },
  ];
}

const itemOf = ({ kind, id }: Ref) => {
  const { table, key } = codecOf(kind);
  return { TableName: name(table), Key: key(id) };
};

await serve((router) => {
  const service = { ...reactionService(deps), react };
  router.service(ReactionService, service, { interceptors: interceptors(log) });
});
