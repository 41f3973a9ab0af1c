/** Holds the fake of DynamoDB Streams to what DynamoDB Local answers in the same scenario. */
import { randomUUID } from "node:crypto";
import {
  type AttributeValue,
  DeleteItemCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type ShardIteratorType,
} from "@aws-sdk/client-dynamodb-streams";
import { expect, inject, test } from "vitest";
import { createStreamsClient } from "../../../src/events/streams/client.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { startFakeStreams } from "./fake-streams.ts";

type Image = Record<string, AttributeValue>;

/** A service with one table that has a stream. */
interface Service {
  readonly dynamo: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly table: string;
  write(pk: string, before: Image | undefined, after: Image | undefined): Promise<void>;
  disable(): Promise<void>;
  close(): Promise<void>;
}

async function openFake(): Promise<Service> {
  const table = "fake-points";
  const fake = await startFakeStreams([table]);
  const { endpoint } = fake;
  const clients = createClients({ endpoint, region: "local" });
  const streams = createStreamsClient({ endpoint, region: "local" });
  const stream = fake.table(table);
  return {
    ...{ dynamo: clients.retrying, streams, table },
    async write(pk, before, after) {
      stream.write(stream.shards[0] as string, { keys: { pk: { S: pk } }, before, after });
    },
    disable: async () => stream.disable(),
    async close() {
      streams.destroy();
      clients.close();
      await fake.stop();
    },
  };
}

async function openLocal(): Promise<Service> {
  const table = `streams-${randomUUID().slice(0, 8)}`;
  const endpoint = inject("dynamodbEndpoint");
  const clients = createClients({ endpoint, region: "local" });
  const { retrying: dynamo } = clients;
  const streams = createStreamsClient({ endpoint, region: "local" });
  const create = {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  } as const;
  const rest = { ttlAttribute: undefined, hasPointInTimeRecovery: undefined };
  await createTables(dynamo, [{ create: structuredClone(create) as never, ...rest }]);
  return {
    ...{ dynamo, streams, table },
    async write(pk, _before, after) {
      const key = { pk: { S: pk } };
      const command = after
        ? new PutItemCommand({ TableName: table, Item: after })
        : new DeleteItemCommand({ TableName: table, Key: key });
      await dynamo.send(command as PutItemCommand);
    },
    async disable() {
      const StreamSpecification = { StreamEnabled: false };
      await dynamo.send(new UpdateTableCommand({ TableName: table, StreamSpecification }));
    },
    async close() {
      await dynamo.send(new DeleteTableCommand({ TableName: table }));
      streams.destroy();
      clients.close();
    },
  };
}

/** The names of what an answer has, and those values that are the same for both services. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (value instanceof Date || value === null || typeof value !== "object") return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, each]) => name !== "$metadata" && each !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, fixed.has(name) ? each : shapeOf(each)]),
  );
};

const fixed = new Set([
  ...["Keys", "NewImage", "OldImage", "eventName", "eventVersion", "eventSource", "awsRegion"],
  ...["StreamViewType", "StreamStatus", "StreamSpecification"],
]);

/** What the service answers, or the name of its error. */
const answer = (sent: Promise<object>): Promise<unknown> =>
  sent.then(shapeOf, (error: Error) => ({ error: error.name }));

/** All that the reader of streams asks, and how the service answers. */
async function scenario({ dynamo, streams, table, write, disable }: Service) {
  const answers: unknown[] = [];
  const describeTable = async () => {
    const { Table } = await dynamo.send(new DescribeTableCommand({ TableName: table }));
    const { LatestStreamArn = "", StreamSpecification } = Table ?? {};
    answers.push({ hasStream: LatestStreamArn !== "", StreamSpecification });
    return LatestStreamArn;
  };
  const StreamArn = await describeTable();
  const describe = (more: object = {}) =>
    streams.send(new DescribeStreamCommand({ StreamArn, ...more }));
  const { StreamDescription } = await describe();
  const ShardId = StreamDescription?.Shards?.[0]?.ShardId ?? "";
  const iterator = (more: object) =>
    streams.send(
      new GetShardIteratorCommand({
        ...{ StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" as ShardIteratorType },
        ...more,
      }),
    );
  const records = (ShardIterator: string | undefined, more: object = {}) =>
    streams.send(new GetRecordsCommand({ ShardIterator, ...more }));
  const after = (SequenceNumber: string | undefined) =>
    iterator({ ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber });

  const item = (pk: string, n: string): Image => ({ pk: { S: pk }, n: { N: n } });
  await write("a", undefined, item("a", "1"));
  await write("a", item("a", "1"), item("a", "2"));
  await write("b", undefined, item("b", "1"));
  await write("a", item("a", "2"), undefined);
  answers.push(
    await answer(describe()),
    await answer(describe({ ExclusiveStartShardId: ShardId })),
  );

  const first = await iterator({});
  const page = await records(first.ShardIterator, { Limit: 3 });
  const rest = await records(page.NextShardIterator);
  const empty = await records(rest.NextShardIterator);
  answers.push(...[first, page, rest, empty].map(shapeOf));
  const numbers = [...(page.Records ?? []), ...(rest.Records ?? [])].map(
    ({ dynamodb }) => dynamodb?.SequenceNumber ?? "",
  );
  answers.push({ isSorted: numbers.join() === numbers.toSorted().join() });
  const later = await after(numbers[1]);
  answers.push(shapeOf(await records(later.ShardIterator)));

  const otherArn = StreamArn.replace(table, `${table}x`);
  const unknown = "shardId-00000001414576573621-f55eea83";
  answers.push(
    await answer(records(first.ShardIterator, { Limit: 1_001 })),
    await answer(records("no iterator")),
    await answer(after(undefined)),
    await answer(iterator({ ShardId: unknown })),
    await answer(iterator({ StreamArn: otherArn })),
    await answer(streams.send(new DescribeStreamCommand({ StreamArn: otherArn }))),
    await answer(dynamo.send(new DescribeTableCommand({ TableName: `${table}x` }))),
  );

  for (let i = 0; i < 6; i++) {
    const text = "x".repeat(300_000);
    await write(`big${i}`, undefined, { pk: { S: `big${i}` }, text: { S: text } });
  }
  const behind = await records((await after(numbers.at(-1))).ShardIterator);
  const count = behind.Records?.length ?? 0;

  await disable();
  await describeTable();
  answers.push(await answer(describe()));
  let next = behind.NextShardIterator;
  let left = 6 - count;
  while (next !== undefined) {
    const { Records = [], NextShardIterator } = await records(next);
    left -= Records.length;
    next = NextShardIterator;
  }
  answers.push({ left });
  return { answers, count };
}

test("it answers as DynamoDB Local", async () => {
  const played: Awaited<ReturnType<typeof scenario>>[] = [];
  for (const open of [openLocal, openFake]) {
    const service = await open();
    try {
      played.push(await scenario(service));
    } finally {
      await service.close();
    }
  }
  const [local, fake] = played;
  expect(fake?.answers).toEqual(local?.answers);
  expect(fake?.answers).toContainEqual({ left: 0 });
  // DynamoDB Local does not have the limit of 1 MB that AWS documents.
  expect([local?.count, fake?.count]).toEqual([6, 3]);
});
