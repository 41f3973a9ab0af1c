/**
 * A baseline for grants: the same RPC path and the same three items, but the account is updated in
 * place, without a version, and every grant is a transaction of its own. Nobody can number the
 * ledger that way, so its entries go by event.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { ServiceImpl } from "@connectrpc/connect";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { holdLedger } from "../../src/holds/rpc/ledger.ts";
import { authenticateByHeader } from "../../src/platform/auth/header.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { admitCallers } from "../../src/platform/edge/admission.ts";
import { callerOf } from "../../src/platform/edge/context.ts";
import { interceptors } from "../../src/platform/edge/interceptors.ts";
import { monthAt } from "../../src/platform/words/month.ts";
import { toProgramId } from "../../src/platform/words/program-ids.ts";
import { requestHash } from "../../src/platform/work/idempotency.ts";
import { pointsCommands } from "../../src/points/rpc/commands.ts";
import { fromEntry } from "../../src/points/rpc/ledger-entries.ts";
import { ledgers } from "../../src/points/rpc/queries.ts";
import { accountVerification } from "../../src/points/rpc/verify-account.ts";
import type { LedgerEntry } from "../../src/points/rules/ledger.ts";
import { balances } from "../../src/reservations/rpc/balances.ts";
import { commit, config, deps, log, serve } from "../support/plain-way.ts";

type Item = Record<string, AttributeValue>;

const table = tableName(config.tablePrefix);

const grantPoints: ServiceImpl<typeof PointsService>["grantPoints"] = async (request, context) => {
  const program = await deps.programs.get(toProgramId(request.programId));
  const { calendar: now } = await deps.clock.now();
  const points = Number(request.points);
  const { eventId, userId, reason } = request;
  const month = monthAt(program.timeZone, now);
  const entry: LedgerEntry = {
    number: 0,
    type: "ISSUED",
    event: { origin: "c", eventId },
    createTime: now,
    effectiveTime: now,
    points,
    changes: [{ month, points }],
    frozen: false,
    availablePoints: 0,
    reason,
    caller: callerOf(context),
  };
  const hash = requestHash("grant", entry.caller, { points, reason });
  await commit(userId, itemsOf(`default#${userId}`, entry, hash));
  return { entry: fromEntry(entry), availablePoints: 0n, replayed: false };
};

function itemsOf(id: string, entry: LedgerEntry, hash: string) {
  const N = (value: number) => ({ N: String(value) });
  const { month } = entry.changes[0] ?? { month: 0 };
  const shared: Item = {
    y: { S: entry.type },
    t: N(entry.createTime),
    p: N(entry.points),
    w: { S: entry.caller.service },
    c: { L: [N(month), N(entry.points)] },
    a: { S: "issued" },
    r: { S: entry.reason },
    x: N(entry.createTime),
    v: N(1),
  };
  const put = (Item: Item) => ({
    Put: { TableName: table("points"), Item, ConditionExpression: "attribute_not_exists(pk)" },
  });
  const pk = { S: `A#${id}` };
  const slot = `s[${month % 12}]`;
  return [
    {
      Update: {
        TableName: table("accounts"),
        Key: { pk, sk: { S: "A" } },
        UpdateExpression: `SET ${slot} = ${slot} + :p, #T[0] = #T[0] + :p, t = :t ADD n :one`,
        ConditionExpression: "attribute_not_exists(f)",
        ExpressionAttributeNames: { "#T": "T" },
        ExpressionAttributeValues: {
          ":p": N(entry.points),
          ":t": N(entry.createTime),
          ":one": N(1),
        },
      },
    },
    put({ pk, sk: { S: `L#${entry.event.eventId}` }, ...shared }),
    put({
      pk: { S: `K#${id}#c:${entry.event.eventId}` },
      sk: { S: "K" },
      h: { S: hash },
      ...shared,
    }),
  ];
}

const options = {
  requestGate: admitCallers({ authenticate: authenticateByHeader }),
  interceptors: interceptors(deps),
};
await serve((router) => {
  const service = {
    ...pointsCommands(deps),
    ...ledgers(deps),
    ...holdLedger(deps),
    ...balances(deps),
    ...accountVerification(deps, log),
  };
  router.service(PointsService, { ...service, grantPoints }, options);
});
