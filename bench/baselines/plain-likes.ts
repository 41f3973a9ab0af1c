/**
 * The plain way to like: the same RPC path, tables and indexes, and one transaction of the same
 * four items for each like, which adds to counts in place instead of checking versions. Nobody can
 * number the likes of an owner or count unread groups that way, so they go by time. Lost races are
 * tried again after a random pause; with BENCH_QUEUE=1 the likes of one process for one owner wait
 * for each other instead, which avoids the races within a process.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  groupRef,
  inboxRef,
  type Ref,
  reactionRef,
  targetRef,
  type Workflows,
} from "../../src/app/ports.ts";
import { compose } from "../../src/compose.ts";
import { readConfig } from "../../src/config.ts";
import { defaultKind, type TargetName } from "../../src/domain/reaction.ts";
import { ReactionService } from "../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { createLogger } from "../../src/log.ts";
import { interceptors } from "../../src/rpc/interceptors.ts";
import { createListeners } from "../../src/rpc/listeners.ts";
import { reactionService } from "../../src/rpc/reactions.ts";
import { createClients } from "../../src/store/dynamodb/client.ts";
import { codecOf } from "../../src/store/dynamodb/codecs.ts";
import { tableName } from "../../src/store/dynamodb/tables.ts";

const patienceMs = 5_000;
const pauseMs = Number(process.env.BENCH_PAUSE_MS ?? 20);
const queued = process.env.BENCH_QUEUE === "1";

const config = readConfig(process.env);
const log = createLogger("plain", config.logLevel);
const nothing = async () => {};
const workflows: Workflows = {
  startReservation: nothing,
  wakeReservation: nothing,
  ensureMonthEnd: nothing,
  startVerification: nothing,
  verification: async () => undefined,
  startRemoval: nothing,
};
const { deps } = compose(config, workflows, log);
const { single } = createClients({ endpoint: config.dynamoEndpoint, region: config.region });
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
  await inTurn(owner, () => commit(itemsOf(like, Date.now())));
  return { changed: true, reactionCount: 0n };
};

const lines = new Map<string, Promise<void>>();

/** One after another for each owner where it is asked for, else at once. */
function inTurn(owner: string, work: () => Promise<void>): Promise<void> {
  if (!queued) return work();
  const turn = (lines.get(owner) ?? Promise.resolve()).catch(nothing).then(work);
  lines.set(owner, turn);
  return turn;
}

async function commit(TransactItems: TransactWriteItem[]): Promise<void> {
  const token = randomUUID();
  const limit = performance.now() + patienceMs;
  for (;;) {
    try {
      await single.send(
        new TransactWriteItemsCommand({ ClientRequestToken: token, TransactItems }),
      );
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (performance.now() > limit) throw new ConnectError("contended", Code.Aborted);
      await sleep(2 * pauseMs * Math.random());
    }
  }
}

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

const isConflict = (error: unknown): boolean =>
  error instanceof TransactionCanceledException &&
  (error.CancellationReasons ?? []).some(({ Code: code }) => code === "TransactionConflict");

const listeners = createListeners((router) => {
  const service = { ...reactionService(deps), react };
  router.service(ReactionService, service, { interceptors: interceptors(log) });
});
process.once("SIGTERM", () => process.exit(0));
log.info(await listeners.listen(config.host, config), "ready");
