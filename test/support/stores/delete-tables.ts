/** Deletes the tables that a test has made for itself. */
import { DeleteTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type TableName, tables } from "../../../src/store/dynamodb/tables.ts";

export async function deleteTables(client: DynamoDBClient, names: TableName): Promise<void> {
  await Promise.all(
    tables.map((table) => client.send(new DeleteTableCommand({ TableName: names(table) }))),
  );
}
