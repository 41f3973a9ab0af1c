/** Tests that tables are created once, and which of them have a TTL. */
import { randomUUID } from "node:crypto";
import { DescribeTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { expect, inject, onTestFinished, test } from "vitest";
import { createClients } from "../../../src/store/dynamodb/sdk/client.ts";
import { createTables, type Table, tableName } from "../../../src/store/dynamodb/tables.ts";
import { deleteTables } from "../../support/stores/delete-tables.ts";

test("are created once; reactions and notifications have a TTL", async () => {
  const names = tableName(`tables-${randomUUID().slice(0, 8)}-`);
  const clients = createClients({
    endpoint: inject("dynamodbEndpoint"),
    region: "ap-northeast-1",
  });
  onTestFinished(async () => {
    await deleteTables(clients.retrying, names);
    clients.close();
  });
  await createTables(clients.retrying, names);
  await createTables(clients.retrying, names);
  const ttlOf = async (table: Table) => {
    const command = new DescribeTimeToLiveCommand({ TableName: names(table) });
    const { TimeToLiveDescription: found } = await clients.retrying.send(command);
    return found?.TimeToLiveStatus === "DISABLED" ? undefined : found?.AttributeName;
  };
  const tables = ["points", "reservations", "bulk", "reactions", "notifications"] as const;
  expect(await Promise.all(tables.map(ttlOf))).toEqual([
    undefined,
    undefined,
    undefined,
    "ttl",
    "ttl",
  ]);
});
