/**
 * DynamoDB in memory, at the level of commands: what a client of the SDK would send and get. It
 * knows the commands and expressions that the store sends, and throws for anything else.
 */
import {
  BatchGetItemCommand,
  type BatchGetItemCommandInput,
  BatchWriteItemCommand,
  type BatchWriteItemCommandInput,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type GetItemCommandInput,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import type { TableDefinition } from "../../../../src/ops/tables/definitions.ts";
import type { Item } from "../../../../src/store/dynamodb/sdk/attributes.ts";
import { UnsupportedRequest } from "../../../../tools/dynamo-proxy/wire.ts";
import { conditionFailed, invalid, refusal } from "./errors.ts";
import { checkedKey, createTable, type Table } from "./items.ts";
import { queryPage, scanPage } from "./pages.ts";
import { type Action, type BeforeItem, createTransactions, itemWrite } from "./transactions.ts";

export interface MemoryDynamo {
  /** Sends commands; nothing else of a client works. */
  readonly client: DynamoDBClient;
  /** The same, but it reads each item at its own moment, after the hook. */
  readonly itemByItem: DynamoDBClient;
  readonly tables: ReadonlyMap<string, Table>;
}

/** The limits of the batches. */
const readLimit = 100;
const writeLimit = 25;

/** Creates empty tables. `hook` returns what is called before each item, if anything. */
export function createMemoryDynamo(
  definitions: readonly TableDefinition[],
  hook: () => BeforeItem | undefined = () => undefined,
): MemoryDynamo {
  const tables = new Map(definitions.map((each) => [each.create.TableName, createTable(each)]));
  const tableOf = (name = ""): Table => {
    const table = tables.get(name);
    if (!table) throw refusal("ResourceNotFoundException", `there is no table ${name}`);
    return table;
  };
  const transactions = createTransactions(tableOf, hook);

  async function readItem(table: Table, key: string, wait: Wait): Promise<Item | undefined> {
    if (wait) await wait("read", table, key);
    return table.rows.get(key)?.item;
  }

  async function get({ TableName, Key = {} }: GetItemCommandInput, wait: Wait) {
    const table = tableOf(TableName);
    const found = await readItem(table, checkedKey(table, Key), wait);
    return found ? { Item: found } : {};
  }

  async function getBatch({ RequestItems = {} }: BatchGetItemCommandInput, wait: Wait) {
    const requests = Object.entries(RequestItems).map(([name, { Keys = [] }]) => {
      const table = tableOf(name);
      return { table, keys: Keys.map((key) => checkedKey(table, key)) };
    });
    checkBatch(requests, readLimit);
    const found = await Promise.all(
      requests.map(async ({ table, keys }) => {
        const items = await Promise.all(keys.map((key) => readItem(table, key, wait)));
        return [table.name, items.filter((item) => item !== undefined)] as const;
      }),
    );
    return { Responses: Object.fromEntries(found), UnprocessedKeys: {} };
  }

  async function write(op: string, action: Action) {
    const { isLocked, isMet, old, apply } = itemWrite(tableOf, op, action);
    if (isLocked) throw refusal("TransactionConflictException", "a transaction is ongoing");
    if (!isMet) throw conditionFailed(old);
    apply();
    return {};
  }

  /** Leaves unprocessed what a transaction is writing. */
  async function writeBatch({ RequestItems = {} }: BatchWriteItemCommandInput) {
    const writes = Object.entries(RequestItems).flatMap(([TableName, requests]) =>
      requests.map((request) => ({ TableName, request, ...batchWrite(TableName, request) })),
    );
    checkBatch(
      writes.map(({ table, key }) => ({ table, keys: [key] })),
      writeLimit,
    );
    const UnprocessedItems: Record<string, WriteRequest[]> = {};
    for (const { TableName, request, isLocked, apply } of writes) {
      if (!isLocked) apply();
      else (UnprocessedItems[TableName] ??= []).push(request);
    }
    return { UnprocessedItems };
  }

  const batchWrite = (TableName: string, { PutRequest, DeleteRequest }: WriteRequest) =>
    itemWrite(tableOf, DeleteRequest ? "Delete" : "Put", {
      TableName,
      Item: PutRequest?.Item,
      Key: DeleteRequest?.Key,
    });

  const page =
    <I extends { TableName?: string | undefined }, O>(read: (table: Table, input: I) => O) =>
    async (input: I) =>
      read(tableOf(input.TableName), input);

  const commands = new Map<unknown, Command>([
    [GetItemCommand, [["TableName", "Key", "ConsistentRead"], get]],
    [BatchGetItemCommand, [["RequestItems"], getBatch]],
    [QueryCommand, [[...pageMembers, ...queryMembers], page(queryPage)]],
    [ScanCommand, [[...pageMembers, "Segment", "TotalSegments"], page(scanPage)]],
    [PutItemCommand, [[...writeMembers, "Item"], (input: Action) => write("Put", input)]],
    [DeleteItemCommand, [[...writeMembers, "Key"], (input: Action) => write("Delete", input)]],
    [BatchWriteItemCommand, [["RequestItems"], writeBatch]],
    [TransactGetItemsCommand, [["TransactItems"], transactions.read]],
    [TransactWriteItemsCommand, [["TransactItems", "ClientRequestToken"], transactions.write]],
  ]);

  async function send({ constructor, input }: { readonly input: object }, wait: Wait) {
    const command = commands.get(constructor);
    if (!command) throw new UnsupportedRequest(`the command ${constructor.name}`);
    const [members, run] = command;
    const unknown = Object.keys(input).filter((member) => !members.includes(member));
    if (unknown.length > 0) throw new UnsupportedRequest(`${constructor.name} with ${unknown}`);
    return run(input as never, wait);
  }
  const clientOf = (wait: () => Wait) =>
    ({
      send: (command: { readonly input: object }) => send(command, wait()),
    }) as unknown as DynamoDBClient;
  return { client: clientOf(() => undefined), itemByItem: clientOf(hook), tables };
}

type Wait = BeforeItem | undefined;

/** The members of the input that are known here, and what answers it. */
type Command = readonly [readonly string[], (input: never, wait: Wait) => Promise<unknown>];

const expressionMembers = ["TableName", "ExpressionAttributeNames", "ExpressionAttributeValues"];
const pageMembers = [
  ...expressionMembers,
  ...["ConsistentRead", "FilterExpression", "ProjectionExpression", "Limit", "ExclusiveStartKey"],
];
const queryMembers = ["IndexName", "KeyConditionExpression", "ScanIndexForward", "Select"];
const writeMembers = [
  ...expressionMembers,
  ...["ConditionExpression", "ReturnValuesOnConditionCheckFailure"],
];

interface BatchPart {
  readonly table: Table;
  readonly keys: readonly string[];
}

function checkBatch(parts: readonly BatchPart[], limit: number): void {
  const names = parts.flatMap(({ table, keys }) => keys.map((key) => `${table.name} ${key}`));
  if (names.length < 1 || names.length > limit) throw invalid(`a batch has 1 to ${limit} items`);
  if (new Set(names).size < names.length) throw invalid("an item is named twice");
}
