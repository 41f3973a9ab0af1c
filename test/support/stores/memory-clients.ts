/** Clients of a DynamoDB in memory, which the composition takes in place of the SDK's. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import type { Clients } from "../../../src/store/dynamodb/sdk/client.ts";
import { createStoreTallies } from "../../../src/store/dynamodb/sdk/request-counts.ts";
import { tableName } from "../../../src/store/dynamodb/tables.ts";
import { createMemoryDynamo } from "./dynamo/memory-dynamo.ts";

/** The tables of one prefix, and the clients of any number of processes on them. */
export interface MemoryTables {
  connect(): MemoryClients;
}

export interface MemoryClients extends Clients {
  /** Cuts the connection of these clients to the tables, or restores it. */
  down(isDown: boolean): void;
}

/** Creates the tables of this prefix, which are gone when nobody refers to them any more. */
export function createMemoryTables(prefix: string): MemoryTables {
  const dynamo = createMemoryDynamo(localTableDefinitions(tableName(prefix)));
  return { connect: () => createClients(dynamo.client) };
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
    throttles: () => ({ byTable: new Map(), byTarget: [] }),
    tallies: createStoreTallies(),
    close: () => {},
    down(isDown) {
      downSince = isDown ? (downSince ?? performance.now()) : undefined;
    },
  };
}

const brokenConnection = (): Error =>
  Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
