/**
 * A baseline for a month end: a loop queries the index for the due accounts and expires 16 at a
 * time, by the rules of the domain. It reads each account by one request and writes it and its
 * ledger entries by one transaction, without an engine, a workflow or a heartbeat.
 */
import { randomUUID } from "node:crypto";
import {
  type DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import type { Deps } from "../../src/hub/deps.ts";
import { versionOf } from "../../src/platform/dynamodb/codec.ts";
import type { TableName } from "../../src/platform/dynamodb/tables.ts";
import { type AccountName, shardCount } from "../../src/points/ports/points.ts";
import { accountRef, entryRef } from "../../src/points/ports/records.ts";
import { expiredMonth } from "../../src/points/rules/account.ts";
import type { LedgerEntry } from "../../src/points/rules/ledger.ts";
import { expireForMonthEnd } from "../../src/points/rules/points.ts";
import type { Program } from "../../src/points/rules/program.ts";
import { codecOf, toItem } from "../../src/store/codecs.ts";
import { inParallel } from "../support/load.ts";

const inFlight = 16;
const pageSize = 1_000;

/** Expires what is due in the accounts of a program. */
export async function plainMonthEnd(
  { programs, reader }: Pick<Deps, "programs" | "reader">,
  client: DynamoDBClient,
  table: TableName,
  programId: string,
): Promise<void> {
  const program = await programs.get(programId);
  const now = Date.now();
  const month = expiredMonth(program, now);
  for (let shard = 0; shard < shardCount; shard++) {
    let cursor: string | undefined;
    do {
      const page = await reader.dueAccounts(programId, shard, month, { size: pageSize, cursor });
      await inParallel(inFlight, page.items, (name) => expire(client, table, program, name, now));
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
}

async function expire(
  client: DynamoDBClient,
  table: TableName,
  program: Program,
  { programId, userId }: AccountName,
  now: number,
): Promise<void> {
  const ref = accountRef(programId, userId);
  const { key, decode } = codecOf("account");
  const read = { TableName: table("accounts"), Key: key(ref.id), ConsistentRead: true };
  const { Item: item } = await client.send(new GetItemCommand(read));
  if (!item) throw new Error(`there is no account ${ref.id}`);
  const version = versionOf(item);
  const { account, entries } = expireForMonthEnd(decode(item), program, now);
  const put = (entry: LedgerEntry): TransactWriteItem => ({
    Put: {
      TableName: table("points"),
      Item: toItem(entryRef(programId, userId, entry.number), entry, 1),
      ConditionExpression: "attribute_not_exists(pk)",
    },
  });
  await client.send(
    new TransactWriteItemsCommand({
      ClientRequestToken: randomUUID(),
      TransactItems: [
        {
          Put: {
            TableName: table("accounts"),
            Item: toItem(ref, account, version + 1),
            ConditionExpression: "v = :v",
            ExpressionAttributeValues: { ":v": { N: String(version) } },
          },
        },
        ...entries.map(put),
      ],
    }),
  );
}
