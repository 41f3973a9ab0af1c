/** The commit engine's item store in DynamoDB: reads, transactional reads and transactions. */
import {
  type AttributeValue,
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type KeysAndAttributes,
  PutItemCommand,
  TransactGetItemsCommand,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import type { CommitResult, ItemCounter, ItemStore, Loaded, Write } from "../engine/item-store.ts";
import type { ClockReading } from "../ports/clock-reading.ts";
import { inBatches } from "../ports/pages.ts";
import type { Kind, Ref } from "../ports/records.ts";
import type { DomainError } from "../words/errors.ts";
import { type Codecs, versionOf } from "./codec.ts";
import { isPlain, withToken } from "./plain-writes.ts";
import type { Item } from "./sdk/attributes.ts";
import { untilDone } from "./sdk/batch-requests.ts";
import { orUnavailable, throttled } from "./sdk/client.ts";
import { isTransient } from "./sdk/failures.ts";
import { decidedAt, LateWriteError } from "./sdk/late-writes.ts";
import { throttleErrors } from "./sdk/requests.ts";
import type { TableName } from "./tables.ts";

/** The limit of BatchGetItem. */
export const readLimit = 100;

/** The limit of TransactWriteItems and TransactGetItems. */
const maxItems = 100;

/** How the records of all features are stored. */
interface Layout {
  readonly codecs: Codecs;
  readonly countItems: () => ItemCounter;
  /** Divides the writes of a transaction into items, in their order. */
  readonly pack: (writes: readonly Write[]) => readonly (readonly Write[])[];
  /** The item that writes are packed into. */
  readonly itemOf: (packed: readonly Write[]) => Item;
}

/** Reads and writes by `client`, which may be one that retries or one that sends once. */
export function createItemStore(
  client: DynamoDBClient,
  tableName: TableName,
  layout: Layout,
): ItemStore {
  const { codecs } = layout;
  const hasNoKey = ({ kind }: Ref) => codecs[kind].read !== undefined;
  return {
    maxItems,
    countItems: layout.countItems,

    async read(refs) {
      const read = (ref: Ref) => orUnavailable(readOne(client, tableName, codecs, ref));
      if (refs.length === 1) return [await read(refs[0] as Ref)];
      const found = new Map<Ref, Loaded>();
      // These are found by queries, one after another: no call reads many of them.
      for (const ref of refs.filter(hasNoKey)) found.set(ref, await read(ref));
      const withKey = refs.filter((ref) => !hasNoKey(ref));
      const batches = inBatches(withKey, readLimit).map((batch) =>
        orUnavailable(readMany(client, tableName, codecs, batch)),
      );
      const loaded = (await Promise.all(batches)).flat();
      for (const [i, ref] of withKey.entries()) found.set(ref, loaded[i] as Loaded);
      return refs.map((ref) => found.get(ref) as Loaded);
    },

    async readAtomically(refs) {
      const TransactItems = refs.map((ref) => {
        const { table, key } = codecs[ref.kind];
        return { Get: { TableName: tableName(table), Key: key(ref.id) } };
      });
      const command = new TransactGetItemsCommand({ TransactItems });
      try {
        const { Responses = [] } = await orUnavailable(client.send(command));
        return refs.map((ref, i) => toLoaded(codecs, ref, Responses[i]?.Item));
      } catch (error) {
        const reasons = reasonsOf(error);
        if (reasons.has("TransactionConflict")) return undefined;
        if (isThrottled(reasons)) throw throttled();
        throw error;
      }
    },

    async commit(writes, token, decided): Promise<CommitResult> {
      const packed = layout.pack(writes);
      try {
        await send(client, tableName, layout, { packed, token, decided });
        return { kind: "committed" };
      } catch (error) {
        return resultOf(error, codecs, packed);
      }
    },
  };
}

/** Decodes an item as a record of the kind of `ref`; version 0 when there is no item. */
function toLoaded<K extends Kind>(
  codecs: Pick<Codecs, K>,
  ref: Ref<K>,
  item: Item | undefined,
): Loaded {
  if (!item) return { value: undefined, version: 0 };
  return { value: codecs[ref.kind].decode(item), version: versionOf(item) };
}

interface Commit {
  readonly packed: readonly (readonly Write[])[];
  readonly token: string;
  readonly decided: ClockReading | undefined;
}

/** Sends a transaction, or the plain write that does the same. */
function send(
  client: DynamoDBClient,
  tableName: TableName,
  layout: Layout,
  { packed, token, decided }: Commit,
): Promise<unknown> {
  const TransactItems = packed.map((item) => toAction(item, tableName, layout));
  const [{ Put, Delete } = {}] = TransactItems;
  const at = <I extends object>(input: I) => decidedAt(input, decided);
  const plain = isPlain(packed, layout.codecs);
  if (plain && Delete) return client.send(new DeleteItemCommand(at(Delete)));
  if (plain && Put) return client.send(new PutItemCommand(at(withToken(Put, token))));
  const transaction = { ClientRequestToken: token, TransactItems };
  return client.send(new TransactWriteItemsCommand(at(transaction)));
}

/** The action on the item that writes are packed into. */
function toAction(
  packed: readonly Write[],
  name: TableName,
  { codecs, itemOf }: Layout,
): TransactWriteItem {
  const { ref, op, version } = packed[0] as Write;
  const { table, key } = codecs[ref.kind];
  const condition = {
    TableName: name(table),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
    ...(version === 0
      ? { ConditionExpression: "attribute_not_exists(pk)" }
      : {
          ConditionExpression: "v = :v",
          ExpressionAttributeValues: { ":v": { N: String(version) } },
        }),
  };
  switch (op) {
    case "put":
      return { Put: { ...condition, Item: itemOf(packed) } };
    case "delete":
      return { Delete: { ...condition, Key: key(ref.id) } };
    case "check":
      return { ConditionCheck: { ...condition, Key: key(ref.id) } };
  }
}

/**
 * Maps an error of a transaction or of a plain write to a result. Throws LIMIT_EXCEEDED for records
 * that fill a partition, and the error itself if it is an unknown one.
 */
function resultOf(error: unknown, codecs: Codecs, packed: Commit["packed"]): CommitResult {
  if (error instanceof TransactionCanceledException) return cancelled(error, codecs, packed);
  if (error instanceof ConditionalCheckFailedException) {
    const [{ ref }] = packed[0] as [Write];
    return { kind: "failed", found: new Map([[ref, toLoaded(codecs, ref, error.Item)]]) };
  }
  if (error instanceof LateWriteError) return { kind: "unknown" };
  const { name } = error as Error;
  if (throttleErrors.has(name)) return { kind: "throttled" };
  if (name === "TransactionConflictException") return { kind: "conflict" };
  if (name === "TransactionInProgressException" || isTransient(error)) return { kind: "unknown" };
  throw error;
}

function cancelled(
  error: TransactionCanceledException,
  codecs: Codecs,
  packed: Commit["packed"],
): CommitResult {
  const found = new Map<Ref, Loaded>();
  for (const [i, { Code, Item }] of (error.CancellationReasons ?? []).entries()) {
    const [{ ref }] = packed[i] as [Write];
    if (Code === "ConditionalCheckFailed") found.set(ref, toLoaded(codecs, ref, Item));
  }
  if (found.size > 0) return { kind: "failed", found };
  const reasons = reasonsOf(error);
  if (reasons.has("TransactionConflict")) return { kind: "conflict" };
  if (isThrottled(reasons)) return { kind: "throttled" };
  throw fullPartition(error, codecs, packed) ?? error;
}

/** The refusal of a record whose partition is full: only those in a local index have a limit. */
function fullPartition(
  { CancellationReasons = [] }: TransactionCanceledException,
  codecs: Codecs,
  packed: Commit["packed"],
): DomainError | undefined {
  const at = CancellationReasons.findIndex(
    ({ Code }) => Code === "ItemCollectionSizeLimitExceeded",
  );
  const ref = packed[at]?.[0]?.ref;
  return ref && codecs[ref.kind].full?.(ref.id);
}

/** The codes with which a transaction was cancelled; empty for any other error. */
function reasonsOf(error: unknown): ReadonlySet<string | undefined> {
  if (!(error instanceof TransactionCanceledException)) return new Set();
  return new Set(error.CancellationReasons?.map(({ Code }) => Code));
}

const isThrottled = (reasons: ReadonlySet<string | undefined>): boolean =>
  reasons.has("ThrottlingError") || reasons.has("ProvisionedThroughputExceeded");

async function readOne(
  client: DynamoDBClient,
  tableName: TableName,
  codecs: Codecs,
  ref: Ref,
): Promise<Loaded> {
  const { table, key, read } = codecs[ref.kind];
  if (read) return read(client, tableName(table), ref);
  const { Item } = await client.send(
    new GetItemCommand({ TableName: tableName(table), Key: key(ref.id), ConsistentRead: true }),
  );
  return toLoaded(codecs, ref, Item);
}

/** Reads up to 100 records, strongly consistently unless `ConsistentRead` is false. */
export async function readMany<K extends Kind>(
  client: DynamoDBClient,
  tableName: TableName,
  codecs: Pick<Codecs, K>,
  refs: readonly Ref<K>[],
  ConsistentRead = true,
): Promise<Loaded[]> {
  const found = new Map<string, Item>();
  const requests: Record<string, KeysAndAttributes & { Keys: Item[] }> = {};
  for (const ref of refs) {
    const { table, key } = codecs[ref.kind];
    const name = tableName(table);
    requests[name] ??= { Keys: [], ConsistentRead };
    requests[name].Keys.push(key(ref.id));
  }
  await untilDone<KeysAndAttributes>(requests, async (RequestItems) => {
    const answer = await client.send(new BatchGetItemCommand({ RequestItems }));
    for (const [name, items] of Object.entries(answer.Responses ?? {})) {
      for (const item of items) found.set(keyText(name, item), item);
    }
    return answer.UnprocessedKeys;
  });
  return refs.map((ref) => {
    const { table, key } = codecs[ref.kind];
    return toLoaded(codecs, ref, found.get(keyText(tableName(table), key(ref.id))));
  });
}

const keyText = (table: string, { pk, sk }: Record<string, AttributeValue>): string =>
  `${table} ${pk?.S} ${sk?.S ?? ""}`;
