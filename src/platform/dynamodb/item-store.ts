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
import { reactionsFull } from "../../feed/store/codecs/reactions.ts";
import { itemOf, pack, readEntry, startPacking } from "../../points/store/ledger-items.ts";
import { codecOf, type Item, versionOf } from "../../store/codecs.ts";
import type { CommitResult, ItemStore, Loaded, Write } from "../engine/item-store.ts";
import type { ClockReading } from "../ports/clock-reading.ts";
import { inBatches } from "../ports/pages.ts";
import type { Ref } from "../ports/records.ts";
import type { DomainError } from "../words/errors.ts";
import { isPlain, withToken } from "./plain-writes.ts";
import { untilDone } from "./sdk/batch-requests.ts";
import { isTransient, orUnavailable, throttled } from "./sdk/client.ts";
import { decidedAt, LateWriteError } from "./sdk/late-writes.ts";
import { throttleErrors } from "./sdk/requests.ts";
import type { TableName } from "./tables.ts";

/** The limit of BatchGetItem. */
export const readLimit = 100;

/** The limit of TransactWriteItems and TransactGetItems. */
const maxItems = 100;

/** Reads and writes by `client`, which may be one that retries or one that sends once. */
export function createDynamoItemStore(client: DynamoDBClient, tableName: TableName): ItemStore {
  return {
    maxItems,
    countItems: startPacking,

    async read(refs) {
      const read = (ref: Ref) => orUnavailable(readOne(client, tableName, ref));
      if (refs.length === 1) return [await read(refs[0] as Ref)];
      const found = new Map<Ref, Loaded>();
      // An entry is found by a query, one after another: no call reads many of them.
      for (const ref of refs.filter(isEntry)) found.set(ref, await read(ref));
      const withKey = refs.filter((ref) => !isEntry(ref));
      const batches = inBatches(withKey, readLimit).map((batch) =>
        orUnavailable(readMany(client, tableName, batch)),
      );
      const loaded = (await Promise.all(batches)).flat();
      for (const [i, ref] of withKey.entries()) found.set(ref, loaded[i] as Loaded);
      return refs.map((ref) => found.get(ref) as Loaded);
    },

    async readAtomically(refs) {
      const TransactItems = refs.map((ref) => {
        const { table, key } = codecOf(ref.kind);
        return { Get: { TableName: tableName(table), Key: key(ref.id) } };
      });
      const command = new TransactGetItemsCommand({ TransactItems });
      try {
        const { Responses = [] } = await orUnavailable(client.send(command));
        return refs.map((ref, i) => toLoaded(ref, Responses[i]?.Item));
      } catch (error) {
        const reasons = reasonsOf(error);
        if (reasons.has("TransactionConflict")) return undefined;
        if (isThrottled(reasons)) throw throttled();
        throw error;
      }
    },

    async commit(writes, token, decided): Promise<CommitResult> {
      const packed = pack(writes);
      try {
        await send(client, tableName, packed, { token, decided });
        return { kind: "committed" };
      } catch (error) {
        return resultOf(error, packed);
      }
    },
  };
}

/** Decodes an item as a record of the kind of `ref`; version 0 when there is no item. */
function toLoaded(ref: Ref, item: Item | undefined): Loaded {
  if (!item) return { value: undefined, version: 0 };
  const codec = codecOf(ref.kind);
  const whole = { ...item, ...codec.key(ref.id) };
  return { value: codec.decode(whole), version: versionOf(item) };
}

const isEntry = ({ kind }: Ref) => kind === "entry";

/** Sends a transaction, or the plain write that does the same. */
function send(
  client: DynamoDBClient,
  tableName: TableName,
  packed: readonly (readonly Write[])[],
  { token, decided }: { readonly token: string; readonly decided: ClockReading | undefined },
): Promise<unknown> {
  const TransactItems = packed.map((item) => toAction(item, tableName));
  const [{ Put, Delete } = {}] = TransactItems;
  const at = <I extends object>(input: I) => decidedAt(input, decided);
  if (isPlain(packed) && Delete) return client.send(new DeleteItemCommand(at(Delete)));
  if (isPlain(packed) && Put) return client.send(new PutItemCommand(at(withToken(Put, token))));
  const transaction = { ClientRequestToken: token, TransactItems };
  return client.send(new TransactWriteItemsCommand(at(transaction)));
}

/** The action on the item that writes are packed into. */
function toAction(packed: readonly Write[], name: TableName): TransactWriteItem {
  const { ref, op, version } = packed[0] as Write;
  const { table, key } = codecOf(ref.kind);
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
 * Maps an error of a transaction or of a plain write to a result. Throws LIMIT_EXCEEDED for a
 * target whose reactions fill a partition, and the error itself if it is an unknown one.
 */
function resultOf(error: unknown, packed: readonly (readonly Write[])[]): CommitResult {
  if (error instanceof TransactionCanceledException) return cancelled(error, packed);
  if (error instanceof ConditionalCheckFailedException) {
    const [{ ref }] = packed[0] as [Write];
    return { kind: "failed", found: new Map([[ref, toLoaded(ref, error.Item)]]) };
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
  packed: readonly (readonly Write[])[],
): CommitResult {
  const found = new Map<Ref, Loaded>();
  for (const [i, { Code, Item }] of (error.CancellationReasons ?? []).entries()) {
    const [{ ref }] = packed[i] as [Write];
    if (Code === "ConditionalCheckFailed") found.set(ref, toLoaded(ref, Item));
  }
  if (found.size > 0) return { kind: "failed", found };
  const reasons = reasonsOf(error);
  if (reasons.has("TransactionConflict")) return { kind: "conflict" };
  if (isThrottled(reasons)) return { kind: "throttled" };
  throw fullTarget(error, packed) ?? error;
}

/** Only reactions are in a local index, by which their partition has a limit. */
function fullTarget(
  { CancellationReasons = [] }: TransactionCanceledException,
  packed: readonly (readonly Write[])[],
): DomainError | undefined {
  const at = CancellationReasons.findIndex(
    ({ Code }) => Code === "ItemCollectionSizeLimitExceeded",
  );
  const ref = packed[at]?.[0]?.ref;
  return ref?.kind === "reaction" ? reactionsFull(ref.id) : undefined;
}

/** The codes with which a transaction was cancelled; empty for any other error. */
function reasonsOf(error: unknown): ReadonlySet<string | undefined> {
  if (!(error instanceof TransactionCanceledException)) return new Set();
  return new Set(error.CancellationReasons?.map(({ Code }) => Code));
}

const isThrottled = (reasons: ReadonlySet<string | undefined>): boolean =>
  reasons.has("ThrottlingError") || reasons.has("ProvisionedThroughputExceeded");

async function readOne(client: DynamoDBClient, tableName: TableName, ref: Ref): Promise<Loaded> {
  const { table, key } = codecOf(ref.kind);
  if (isEntry(ref)) return readEntry(client, tableName(table), ref);
  const { Item } = await client.send(
    new GetItemCommand({ TableName: tableName(table), Key: key(ref.id), ConsistentRead: true }),
  );
  return toLoaded(ref, Item);
}

/** Reads up to 100 records, strongly consistently unless `ConsistentRead` is false. */
export async function readMany(
  client: DynamoDBClient,
  tableName: TableName,
  refs: readonly Ref[],
  ConsistentRead = true,
): Promise<Loaded[]> {
  const found = new Map<string, Item>();
  const requests: Record<string, KeysAndAttributes & { Keys: Item[] }> = {};
  for (const ref of refs) {
    const { table, key } = codecOf(ref.kind);
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
    const { table, key } = codecOf(ref.kind);
    return toLoaded(ref, found.get(keyText(tableName(table), key(ref.id))));
  });
}

const keyText = (table: string, { pk, sk }: Record<string, AttributeValue>): string =>
  `${table} ${pk?.S} ${sk?.S ?? ""}`;
