/**
 * A baseline for grants: a loop writes the same three items under the same conditions by the SDK,
 * and keeps its accounts in memory so that it never has to read one.
 */
import { randomUUID } from "node:crypto";
import {
  type AttributeValue,
  type DynamoDBClient,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import type { Table, TableName } from "../../src/platform/dynamodb/tables.ts";

type Item = Record<string, AttributeValue>;

/** An account as the loop keeps it. */
export interface BareAccount {
  readonly user: string;
  version: number;
}

const N = (value: number) => ({ N: String(value) });
const hash = `1:${"h".repeat(43)}`;

/** Sends grant number `n` of an account. */
export async function bareGrant(
  client: DynamoDBClient,
  table: TableName,
  account: BareAccount,
): Promise<void> {
  const n = account.version + 1;
  const now = Date.now();
  const event = `bench-bare-${String(n).padStart(13, "0")}`;
  const entry: Item = {
    y: { S: "ISSUED" },
    t: N(now),
    p: N(5),
    b: N(5 * n),
    w: { S: "bench" },
    c: { L: [N(24_322), N(5)] },
    a: { S: "issued" },
    r: { S: "bench" },
    x: N(now),
    v: N(1),
  };
  const pk = { S: `A#default#${account.user}` };
  const slots = Array.from({ length: 12 }, (_, slot) => N(slot === 10 ? 5 * n : 0));
  const put = (name: Table, Item: Item, version: number) => ({
    Put: {
      TableName: table(name),
      Item,
      ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
      ...(version === 0
        ? { ConditionExpression: "attribute_not_exists(pk)" }
        : {
            ConditionExpression: "v = :v",
            ExpressionAttributeValues: { ":v": N(version) },
          }),
    },
  });
  const whole: Item = {
    pk,
    sk: { S: "A" },
    m: N(24_322),
    s: { L: slots },
    T: { L: [N(5 * n), N(0), N(0), N(0), N(0)] },
    n: N(n),
    t: N(now),
    xp: { S: "default#7" },
    xm: N(24_322),
    v: N(n),
  };
  const key: Item = { pk: { S: `K#default#${account.user}#c:${event}` }, sk: { S: "K" } };
  await client.send(
    new TransactWriteItemsCommand({
      ClientRequestToken: randomUUID(),
      TransactItems: [
        put("accounts", whole, account.version),
        put(
          "points",
          { pk, sk: { S: `L#${String(n).padStart(12, "0")}` }, e: { S: event }, ...entry },
          0,
        ),
        put("points", { ...key, h: { S: hash }, n: N(n), B: N(5 * n), ...entry }, 0),
      ],
    }),
  );
  account.version = n;
}
