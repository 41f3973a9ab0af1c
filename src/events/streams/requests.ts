/** The requests to DynamoDB Streams, and what their errors mean for a reader. */
import { DescribeTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  ExpiredIteratorException,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type _Record as Record,
  ResourceNotFoundException,
  TrimmedDataAccessException,
} from "@aws-sdk/client-dynamodb-streams";
import type { TableName } from "../../platform/dynamodb/tables.ts";
import type { ShardPosition, StreamedTable } from "../ports/changes.ts";

/** A shard as the description of its stream lists it. */
export interface ListedShard {
  readonly id: string;
  /** The shard that this one continues, which may not be listed any more. */
  readonly parent?: string | undefined;
}

/** The latest stream of a table, which may be switched off. */
export interface Stream {
  readonly arn: string;
  readonly isEnabled: boolean;
  readonly shards: readonly ListedShard[];
}

/** The next records of a shard. */
export interface RecordPage {
  readonly records: readonly Record[];
  /** Undefined at the end of a shard that has ended. */
  readonly next: string | undefined;
}

/** The iterator has expired, or its records, or the whole shard. */
export type StreamRefusal = "expired" | "trimmed" | "gone";

export interface StreamRequests {
  /** Throws an error that names the table when it has no stream. */
  stream(table: StreamedTable, signal: AbortSignal): Promise<Stream>;
  /** The iterator behind the last record that was read, or of the oldest record. */
  iterator(
    shard: string,
    position: Pick<ShardPosition, "stream" | "sequence">,
    signal: AbortSignal,
  ): Promise<string>;
  /** Up to 1,000 records, and 1 MB. */
  records(iterator: string, signal: AbortSignal): Promise<RecordPage>;
}

/** What the error of a request says of the iterator or shard; undefined for all other errors. */
export function refusalOf(error: unknown): StreamRefusal | undefined {
  if (error instanceof ExpiredIteratorException) return "expired";
  if (error instanceof TrimmedDataAccessException) return "trimmed";
  return error instanceof ResourceNotFoundException ? "gone" : undefined;
}

export function createStreamRequests(
  dynamo: DynamoDBClient,
  streams: DynamoDBStreamsClient,
  tableName: TableName,
): StreamRequests {
  async function streamOf(table: StreamedTable, abortSignal: AbortSignal): Promise<string> {
    const TableName = tableName(table);
    const { Table } = await dynamo.send(new DescribeTableCommand({ TableName }), { abortSignal });
    if (Table?.LatestStreamArn) return Table.LatestStreamArn;
    throw new Error(
      `the table ${TableName} has no stream: switch it on as deploy/tables.yaml has it`,
    );
  }

  return {
    async stream(table, abortSignal) {
      const StreamArn = await streamOf(table, abortSignal);
      const shards: ListedShard[] = [];
      let isEnabled = false;
      let ExclusiveStartShardId: string | undefined;
      do {
        const command = new DescribeStreamCommand({ StreamArn, ExclusiveStartShardId });
        const { StreamDescription: page } = await streams.send(command, { abortSignal });
        isEnabled = /^ENABL/.test(page?.StreamStatus ?? "");
        for (const { ShardId = "", ParentShardId } of page?.Shards ?? []) {
          shards.push({ id: ShardId, parent: ParentShardId });
        }
        ExclusiveStartShardId = page?.LastEvaluatedShardId;
      } while (ExclusiveStartShardId !== undefined);
      return { arn: StreamArn, isEnabled, shards };
    },

    async iterator(ShardId, { stream: StreamArn, sequence: SequenceNumber }, abortSignal) {
      const command = new GetShardIteratorCommand({
        StreamArn,
        ShardId,
        ...(SequenceNumber === undefined
          ? { ShardIteratorType: "TRIM_HORIZON" }
          : { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber }),
      });
      const { ShardIterator } = await streams.send(command, { abortSignal });
      if (ShardIterator === undefined) throw new Error("the stream has given no iterator");
      return ShardIterator;
    },

    async records(ShardIterator, abortSignal) {
      const command = new GetRecordsCommand({ ShardIterator });
      const { Records = [], NextShardIterator } = await streams.send(command, { abortSignal });
      return { records: Records, next: NextShardIterator };
    },
  };
}
