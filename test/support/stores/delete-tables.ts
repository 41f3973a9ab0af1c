/** Deletes the tables that a test has made for itself. */
import {
  DeleteTableCommand,
  type DynamoDBClient,
  ResourceNotFoundException,
} from "@aws-sdk/client-dynamodb";
import { type TableName, tables } from "../../../src/platform/dynamodb/tables.ts";

export async function deleteTables(client: DynamoDBClient, names: TableName): Promise<void> {
  await Promise.all(tables.map((table) => deleteTable(client, names(table))));
}

/** A large table takes long to delete: its request times out, and the next attempt finds none. */
async function deleteTable(client: DynamoDBClient, name: string): Promise<void> {
  try {
    await client.send(new DeleteTableCommand({ TableName: name }));
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
  }
}
