/** Clients of a DynamoDB in memory, which the composition takes in place of the SDK's. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import type { Clients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { createStoreTallies } from "../../../src/platform/dynamodb/sdk/request-counts.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createMemoryDynamo } from "./dynamo/memory-dynamo.ts";

/** The tables of one prefix, for the clients of any number of servers and workers. */
export interface MemoryTables {
  connect(): MemoryClients;
  /** Forgets the tables. */
  delete(): void;
}

export interface MemoryClients extends Clients {
  /** Cuts the connection of these clients to the tables, or restores it. */
  down(isDown: boolean): void;
}

const created = new Map<string, MemoryTables>();

/** Finds the tables that this process has created under the prefix. */
export const findMemoryTables = (prefix: string): MemoryTables | undefined => created.get(prefix);

export function createMemoryTables(prefix: string): MemoryTables {
  const { client } = createMemoryDynamo(localTableDefinitions(tableName(prefix)));
  const tables = { connect: () => createClients(client), delete: () => created.delete(prefix) };
  created.set(prefix, tables);
  return tables;
}

function createClients(store: DynamoDBClient): MemoryClients {
  let downSince: number | undefined;
  const unansweredMs = () => (downSince === undefined ? 0 : performance.now() - downSince);
  const send: DynamoDBClient["send"] = async (command: never) => {
    if (downSince !== undefined) throw brokenConnection();
    return store.send(command);
  };
  const client = { send } as DynamoDBClient;
  return {
    retrying: client,
    single: client,
    skewMs: () => 0,
    offsetMs: () => 0,
    silenceMs: unansweredMs,
    unansweredMs,
    refusals: () => [],
    tallies: createStoreTallies(),
    close: () => {},
    down(isDown) {
      downSince = isDown ? (downSince ?? performance.now()) : undefined;
    },
  };
}

const brokenConnection = (): Error =>
  Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
