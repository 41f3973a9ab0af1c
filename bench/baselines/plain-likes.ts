/**
 * A baseline for likes: the same RPC path, tables and indexes, and one transaction of the same four
 * items for each like, which adds to counts in place instead of checking versions. Nobody can
 * number the likes of an owner or count unread groups that way, so they go by time.
 */
import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  inboxRef,
  type Ref,
  reactionRef,
  targetRef,
  unreadGroupRef,
} from "../../src/app/ports/records.ts";
import { authenticateByHeader } from "../../src/auth/header.ts";
import { defaultKind } from "../../src/domain/kinds.ts";
import type { TargetName } from "../../src/domain/target.ts";
import { ReactionService } from "../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { reactionService } from "../../src/rpc/reactions/service.ts";
import { admitCallers } from "../../src/rpc/server/admission.ts";
import { interceptors } from "../../src/rpc/server/interceptors.ts";
import { codecOf } from "../../src/store/dynamodb/codecs/index.ts";
import { tableName } from "../../src/store/dynamodb/tables.ts";
import { commit, config, deps, serve } from "../support/plain-way.ts";

const name = tableName(config.tablePrefix);

interface Like {
  readonly target: TargetName;
  readonly ownerId: string;
  readonly kind: string;
  readonly userId: string;
  readonly displayName: string;
}

const react: ServiceImpl<typeof ReactionService>["react"] = async (request) => {
  const { type, id } = request.targetName as TargetName;
  const target = { type, id };
  const ownerId = await deps.owners.of(target);
  const { userId, displayName } = request;
  const like = { target, ownerId, kind: request.kind || defaultKind, userId, displayName };
  await commit(ownerId, itemsOf(like, Date.now()));
  return { changed: true, reactionCount: 0n };
};

function itemsOf(
  { target, ownerId, kind, userId, displayName }: Like,
  now: number,
): TransactWriteItem[] {
  const time = { N: String(now) };
  const one = { ":one": { N: "1" } };
  const actor = { L: [{ S: userId }, { S: displayName }] };
  const row = reactionRef(target, kind, userId);
  return [
    {
      Put: {
        TableName: name("reactions"),
        Item: {
          ...codecOf("reaction").key(row.id),
          a: { S: displayName },
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
        ...itemOf(unreadGroupRef(ownerId, target, kind)),
        UpdateExpression:
          "SET l = :t, m = :t, z = :a, f = if_not_exists(f, :t), c = if_not_exists(c, :t), " +
          "a = if_not_exists(a, :a) ADD p :one",
        ExpressionAttributeValues: { ...one, ":t": time, ":a": actor },
      },
    },
    {
      Update: {
        ...itemOf(inboxRef(ownerId)),
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

const options = {
  requestGate: admitCallers({ authenticate: authenticateByHeader }),
  interceptors: interceptors(deps),
};
await serve((router) => {
  const service = { ...reactionService(deps), react };
  router.service(ReactionService, service, options);
});
