/** Reads what a request names and does, and recognises the errors of throttling. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "./attributes.ts";

const writes = /^(TransactWriteItems|PutItem|DeleteItem|UpdateItem|BatchWriteItem)Command$/;
const reads = /^(TransactGetItems|GetItem|BatchGetItem|Query|Scan)Command$/;

/** Whether a command of this name writes items. */
export const isWrite = (commandName: string): boolean => writes.test(commandName);

/** Whether it reads or writes items. Those on tables say nothing of consumed units. */
export const isOnItems = (commandName: string): boolean =>
  isWrite(commandName) || reads.test(commandName);

/** The names of DynamoDB's throttling errors: the request had no effect. */
export const throttleErrors: ReadonlySet<string> = new Set([
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  "ThrottlingException",
]);

/** The codes of an item of a cancelled transaction that was throttled. */
const throttleCodes: ReadonlySet<string | undefined> = new Set([
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
]);

/** A table of a request, and the partition that it asks for if that is known. */
export interface Partition {
  readonly table: string;
  readonly pk: string | undefined;
}

/** An action of a transaction, or a request for one item. */
interface Keyed {
  readonly TableName?: string;
  readonly Key?: Item;
  readonly Item?: Item;
  readonly ExpressionAttributeValues?: Readonly<Record<string, AttributeValue>>;
}

type Batch = Readonly<Record<string, { readonly Keys?: readonly Item[] } | readonly unknown[]>>;

export interface RequestInput extends Keyed {
  readonly TransactItems?: readonly Readonly<Record<string, Keyed>>[];
  readonly RequestItems?: Batch;
  readonly IndexName?: string;
}

interface Unprocessed {
  readonly UnprocessedKeys?: Batch;
  readonly UnprocessedItems?: Batch;
}

/** The fields of the SDK's error for a request that has failed. */
export interface Failure {
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

/** Whether a request has failed because DynamoDB throttles it. */
export const isThrottled = ({ name, CancellationReasons = [] }: Failure): boolean =>
  throttleErrors.has(name ?? "") || CancellationReasons.some(({ Code }) => throttleCodes.has(Code));

/** The part of a batch that DynamoDB has throttled and not processed; undefined if none. */
export function unprocessed(output: unknown): Batch | undefined {
  const { UnprocessedKeys, UnprocessedItems } = output as Unprocessed;
  const left = UnprocessedKeys ?? UnprocessedItems;
  return left && Object.keys(left).length > 0 ? left : undefined;
}

/** The partitions that DynamoDB has throttled. */
export function throttledOf(
  { name, CancellationReasons = [] }: Failure,
  input: RequestInput,
): readonly Partition[] {
  const partitions = partitionsOf(input);
  if (throttleErrors.has(name ?? "")) return partitions;
  return partitions.filter((_, i) => throttleCodes.has(CancellationReasons[i]?.Code));
}

/** The partitions of a request; of a transaction, one for each of its actions. */
export function partitionsOf({
  TransactItems,
  RequestItems,
  ...single
}: RequestInput): Partition[] {
  if (TransactItems) {
    return TransactItems.map((action) => partitionOf(Object.values(action)[0] as Keyed));
  }
  if (!RequestItems) return [partitionOf(single)];
  return Object.entries(RequestItems).flatMap(([table, asked]) => {
    const keys = "Keys" in asked ? (asked.Keys ?? []) : [];
    return [{ table, pk: undefined }, ...keys.map((key) => ({ table, pk: key.pk?.S }))];
  });
}

/** The tables of a request. */
export function tablesOf({ TableName = "", TransactItems, RequestItems }: RequestInput): string[] {
  if (RequestItems) return Object.keys(RequestItems);
  if (!TransactItems) return [TableName];
  const tables = TransactItems.map((action) => Object.values(action)[0]?.TableName ?? "");
  return [...new Set(tables)];
}

function partitionOf({ TableName = "", Key, Item, ExpressionAttributeValues }: Keyed): Partition {
  // In queries `:p` is the partition.
  const pk = (Key ?? Item)?.pk ?? ExpressionAttributeValues?.[":p"];
  return { table: TableName, pk: pk?.S };
}
