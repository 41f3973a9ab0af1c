/** The changes of the store from DynamoDB Streams, which one process reads shard by shard. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DynamoDBStreamsClient } from "@aws-sdk/client-dynamodb-streams";
import type { TableName } from "../../platform/dynamodb/tables.ts";
import {
  type ChangeStreams,
  type StreamedTable,
  streamedTables,
  type Taken,
} from "../ports/changes.ts";
import { createStreamRequests } from "./requests.ts";
import type { ShardReaderDeps } from "./shard-reader.ts";
import { createTableReader } from "./table-reader.ts";

interface ChangeStreamsDeps extends Omit<ShardReaderDeps, "requests"> {
  /** Describes the tables. */
  readonly dynamo: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly tableName: TableName;
}

/** Reads the tables side by side, so that none waits for the stream or the gap of another. */
export function createChangeStreams(deps: ChangeStreamsDeps): ChangeStreams {
  const { dynamo, streams, tableName, ...rest } = deps;
  const requests = createStreamRequests(dynamo, streams, tableName);
  const readers = streamedTables.map(
    (table) => [table, createTableReader({ ...rest, requests }, table)] as const,
  );

  return {
    async read(positions, take, signal) {
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      let failure: { readonly error: unknown } | undefined;
      const stopAll = (error: unknown) => {
        failure ??= { error };
        stop.abort();
      };
      const takeOrStop = async (taken: Taken) => {
        try {
          await take(taken);
        } catch (error) {
          stopAll(error);
          throw error;
        }
      };
      const reading = readers.map(async ([table, reader]) => {
        const own = Object.entries(positions).filter(([, position]) => position.table === table);
        try {
          await reader.read(new Map(own), takeOrStop, either);
        } catch (error) {
          if (!either.aborted) stopAll(error);
        }
      });
      await Promise.all(reading);
      if (failure) throw failure.error;
    },

    behindMs: () =>
      Object.fromEntries(readers.map(([table, reader]) => [table, reader.behindMs()])) as Record<
        StreamedTable,
        number
      >,
  };
}
