/**
 * DynamoDB in memory, at the level of commands: what a client of the SDK would send and get. It
 * knows the commands and expressions that the store sends, and throws for anything else.
 */
import type {
  BatchGetItemCommandInput,
  BatchWriteItemCommandInput,
  DynamoDBClient,
  GetItemCommandInput,
  WriteRequest,
} from "@aws-sdk/client-dynamodb";
import type { TableDefinition } from "../../../../src/ops/tables/definitions.ts";
import type { Item } from "../../../../src/platform/dynamodb/sdk/attributes.ts";
import { authorizing } from "../../deploy/authorize.ts";
import { authorizeTool } from "../../deploy/run-as.ts";
import { conditionFailed, refusal } from "./errors.ts";
import { checkedKey, createTable, type Table } from "./items.ts";
import { queryPage, scanPage } from "./pages.ts";
import { type CommandName, checkCommand, checkItems } from "./requests.ts";
import { type Action, type BeforeItem, createTransactions, itemWrite } from "./transactions.ts";

interface MemoryDynamo {
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
    checkItems(requests, readLimit);
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
    checkItems(
      writes.map(({ table, key }) => ({ table, keys: [key] })),
      writeLimit,
    );
    const UnprocessedItems: Record<string, WriteRequest[]> = {};
    for (const { TableName, request, isLocked, apply } of writes) {
      if (isLocked) UnprocessedItems[TableName] = [...(UnprocessedItems[TableName] ?? []), request];
      else apply();
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

  const runs: Record<CommandName, (input: never, wait: Wait) => Promise<unknown>> = {
    GetItemCommand: get,
    BatchGetItemCommand: getBatch,
    QueryCommand: page(queryPage),
    ScanCommand: page(scanPage),
    PutItemCommand: (input: Action) => write("Put", input),
    DeleteItemCommand: (input: Action) => write("Delete", input),
    BatchWriteItemCommand: writeBatch,
    TransactGetItemsCommand: transactions.read,
    TransactWriteItemsCommand: transactions.write,
  };

  async function send(command: { readonly input: object }, wait: Wait): Promise<unknown> {
    const { name } = command.constructor;
    checkCommand(name, command.input);
    return runs[name](command.input as never, wait);
  }
  const clientOf = (wait: () => Wait) =>
    ({
      send: authorizing((command) => send(command, wait()), authorizeTool),
    }) as unknown as DynamoDBClient;
  return { client: clientOf(() => undefined), itemByItem: clientOf(hook), tables };
}

type Wait = BeforeItem | undefined;
