/**
 * Tests that DynamoDB in memory answers commands as DynamoDB Local does: random ones by a fixed
 * seed, and the cases that are rarely drawn. What DynamoDB Local lacks of AWS is tested at the end.
 */
import { randomUUID } from "node:crypto";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  TransactGetItemsCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { localTableDefinitions } from "../../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../../src/ops/tables/manage-tables.ts";
import { type Item, N, S } from "../../../../src/store/dynamodb/sdk/attributes.ts";
import { type Clients, createClients } from "../../../../src/store/dynamodb/sdk/client.ts";
import { tableName } from "../../../../src/store/dynamodb/tables.ts";
import { deleteTables } from "../delete-tables.ts";
import { createMemoryDynamo } from "./memory-dynamo.ts";

const names = tableName(`commands-${randomUUID().slice(0, 8)}-`);
const definitions = localTableDefinitions(names);
let clients: Clients;

beforeAll(async () => {
  clients = createClients({ endpoint: inject("dynamodbEndpoint"), region: "ap-northeast-1" });
  await createTables(clients.retrying, definitions);
});

afterAll(async () => {
  await deleteTables(clients.retrying, names);
  clients.close();
});

type Sent = Parameters<DynamoDBClient["send"]>[0];

/** What both stores answer; for errors what the store reads of them. */
async function answerOf(client: DynamoDBClient, command: Sent): Promise<object> {
  try {
    const { $metadata: _, ...answer } = (await client.send(command)) as Answer;
    return sorted(answer);
  } catch (error) {
    const { name, Item: item, CancellationReasons } = error as Refusal;
    const reasons = CancellationReasons?.map(({ Code, Item: old }) => ({ Code, old }));
    return { name, item, reasons };
  }
}

interface Answer {
  readonly $metadata: unknown;
  readonly Responses?: unknown;
  readonly UnprocessedKeys?: object;
}

interface Refusal {
  readonly name: string;
  readonly Item?: Item;
  readonly CancellationReasons?: readonly { readonly Code?: string; readonly Item?: Item }[];
}

/** The items of a batch have no order. */
function sorted(answer: Omit<Answer, "$metadata">): object {
  const { Responses: found } = answer;
  if (typeof found !== "object" || Array.isArray(found)) return answer;
  const responses = Object.values(found ?? {}).flatMap((items) =>
    (items as Item[]).toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1)),
  );
  return { ...answer, Responses: responses };
}

const textOf = (item: Item): string => JSON.stringify([item.pk, item.sk]);

/** Sends commands one after another to both, and expects the same answers. Returns them. */
async function compare(commands: readonly Sent[], memory = openMemory()): Promise<object[]> {
  const answers: object[] = [];
  for (const command of commands) {
    const expected = await answerOf(clients.single, command);
    const actual = await answerOf(memory, command);
    expect(actual, JSON.stringify(command.input)).toEqual(expected);
    answers.push(actual);
  }
  return answers;
}

const openMemory = () => createMemoryDynamo(definitions).client;

const reactions = names("reactions");
const partitionOf = () => `R#${randomUUID().slice(0, 8)}`;

/** Sort keys whose order differs by UTF-8, by UTF-16 and by length. */
const sortKeys = ["a", "a#1", "a#2", "ab", "b", "B", "é", "z", "～", "😀", "a\u{10ffff}"];

const put = (item: Item, more: object = {}) =>
  new PutItemCommand({ TableName: reactions, Item: item, ...more });

describe("random commands have the same answers", () => {
  /** Few values, so that conditions hold as often as they fail. */
  const small = fc.integer({ min: -2, max: 12 });
  const sk = fc.constantFrom(...sortKeys);
  const keyOf = (pk: string) => sk.map((each): Item => ({ pk: S(pk), sk: S(each) }));
  const attributes = fc.record(
    { n: small.map(N), t: small.map(N), v: small.map(N), q: fc.constant({ BOOL: true }) },
    { requiredKeys: ["v"] },
  );

  const condition = fc.oneof(
    fc.constant({ ConditionExpression: "attribute_not_exists(pk)" }),
    small.map((version) => ({
      ConditionExpression: "v = :v",
      ExpressionAttributeValues: { ":v": N(version) },
    })),
    small.map((version) => ({
      ConditionExpression: "attribute_not_exists(pk) OR v = :v",
      ExpressionAttributeValues: { ":v": N(version) },
    })),
  );
  const returning = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const };

  const actions = (pk: string) =>
    fc.oneof(
      fc
        .tuple(keyOf(pk), attributes, condition)
        .map(([key, more, when]) => ({ Put: { Item: { ...key, ...more }, ...when } })),
      fc.tuple(keyOf(pk), condition).map(([Key, when]) => ({ Delete: { Key, ...when } })),
      fc.tuple(keyOf(pk), condition).map(([Key, when]) => ({ ConditionCheck: { Key, ...when } })),
    );

  const transaction = (pk: string) =>
    fc
      .uniqueArray(actions(pk), {
        minLength: 1,
        maxLength: 4,
        selector: (each) => {
          const { Item: item, Key } = Object.values(each)[0] as { Item?: Item; Key?: Item };
          return (item ?? Key)?.sk?.S;
        },
      })
      .map((all) => {
        const TransactItems = all.map((each) =>
          Object.fromEntries(
            Object.entries(each).map(([op, action]) => [
              op,
              { TableName: reactions, ...returning, ...action },
            ]),
          ),
        );
        return new TransactWriteItemsCommand({
          ClientRequestToken: randomUUID(),
          TransactItems: TransactItems as TransactWriteItem[],
        });
      });

  const range = (name: string, value: fc.Arbitrary<Item[string]>, isText: boolean) =>
    fc.oneof(
      fc.constant({ text: "", values: {} }),
      fc
        .tuple(fc.constantFrom("=", "<", "<=", ">", ">="), value)
        .map(([op, a]) => ({ text: ` AND ${name} ${op} :a`, values: { ":a": a } })),
      fc.tuple(value, value).map(([a, b]) => ({
        text: ` AND ${name} BETWEEN :a AND :b`,
        values: { ":a": a, ":b": b },
      })),
      ...(isText
        ? [value.map((a) => ({ text: ` AND begins_with(${name}, :a)`, values: { ":a": a } }))]
        : []),
    );

  const filter = fc.constantFrom(
    undefined,
    "attribute_not_exists(q)",
    "v > :f AND NOT attribute_exists(q)",
    "(attribute_exists(q) OR NOT t < :f) AND v >= :f",
    "v BETWEEN :f AND :f OR begins_with(q, :f)",
  );

  const query = (pk: string) =>
    fc
      .tuple(fc.boolean(), small.map(N), sk.map(S))
      .chain(([isIndex, n]) => {
        const texts = sk.map(S);
        return fc.record({
          isIndex: fc.constant(isIndex),
          range: isIndex ? range("n", small.map(N), false) : range("sk", texts, true),
          FilterExpression: filter,
          Limit: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
          ScanIndexForward: fc.boolean(),
          isCount: fc.boolean(),
          ProjectionExpression: fc.constantFrom(undefined, "v", "pk, #s"),
          start: fc.option(
            keyOf(pk).map((key) => (isIndex ? { ...key, n } : key)),
            { nil: undefined },
          ),
        });
      })
      .map(({ isIndex, range: { text, values }, isCount, ...more }) => {
        const { FilterExpression, ProjectionExpression, start, ...rest } = more;
        const projection = isCount ? undefined : ProjectionExpression;
        const input: QueryCommandInput = {
          ...rest,
          TableName: reactions,
          ConsistentRead: true,
          KeyConditionExpression: `pk = :p${text}`,
          ...(isIndex && { IndexName: "by-n" }),
          ...(isCount && { Select: "COUNT" as const }),
          ...(start && { ExclusiveStartKey: start }),
          ...(FilterExpression && { FilterExpression }),
          ...(projection && { ProjectionExpression: projection }),
          ...(projection?.includes("#s") && { ExpressionAttributeNames: { "#s": "sk" } }),
          ExpressionAttributeValues: {
            ":p": S(pk),
            ...values,
            ...(FilterExpression?.includes(":f") && { ":f": N(3) }),
          },
        };
        return new QueryCommand(input);
      });

  const single = (pk: string) =>
    fc.oneof(
      fc
        .tuple(keyOf(pk), attributes, condition)
        .map(([key, more, when]) => put({ ...key, ...more }, { ...returning, ...when })),
      fc.tuple(keyOf(pk), attributes).map(([key, more]) => put({ ...key, ...more })),
      fc
        .tuple(keyOf(pk), condition)
        .map(
          ([Key, when]) =>
            new DeleteItemCommand({ TableName: reactions, Key, ...returning, ...when }),
        ),
      keyOf(pk).map((Key) => new GetItemCommand({ TableName: reactions, Key })),
      fc
        .uniqueArray(keyOf(pk), { minLength: 1, maxLength: 4, selector: textOf })
        .map((Keys) => new BatchGetItemCommand({ RequestItems: { [reactions]: { Keys } } })),
      fc.uniqueArray(keyOf(pk), { minLength: 1, maxLength: 4, selector: textOf }).map(
        (keys) =>
          new TransactGetItemsCommand({
            TransactItems: keys.map((Key) => ({ Get: { TableName: reactions, Key } })),
          }),
      ),
      fc.uniqueArray(keyOf(pk), { minLength: 1, maxLength: 3, selector: textOf }).map(
        (keys) =>
          new BatchWriteItemCommand({
            RequestItems: { [reactions]: keys.map((Key) => ({ DeleteRequest: { Key } })) },
          }),
      ),
    );

  test("of one partition with a local index", async () => {
    const memory = openMemory();
    const sequence = fc.constant(undefined).map(partitionOf);
    const commands = sequence.chain((pk) =>
      fc.tuple(
        fc.array(
          keyOf(pk).chain((key) => attributes.map((more) => put({ ...key, ...more }))),
          {
            maxLength: 10,
          },
        ),
        fc.array(fc.oneof(single(pk), transaction(pk), query(pk), query(pk)), { maxLength: 12 }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(commands, async ([items, more]) => {
        await compare([...items, ...more], memory);
      }),
      { numRuns: 150, endOnFailure: true, seed: 20_261_127 },
    );
  });
});
