/**
 * Computes the capacity units that DynamoDB on AWS would bill for requests, because the meter of
 * DynamoDB Local is wrong for transactions. The rules are those of the developer guide: "item sizes
 * and formats", "read and write operations", "transactions: how it works", "global secondary
 * indexes", and "local secondary indexes", whose writes are counted by the same rules.
 *
 * Where the guide has no rule, the higher figure is used: a cancelled transaction is billed like a
 * committed one. An index is billed once, not twice, for a write inside a transaction: other
 * projects measured that on AWS (dynamodb-conformance, dynoxide #188) for global indexes; for local
 * ones it is an assumption.
 */
import type { AttributeValue, CreateTableCommandInput } from "@aws-sdk/client-dynamodb";
import type { TableDefinition } from "../src/ops/tables/definitions.ts";
import { itemSize } from "../src/platform/dynamodb/sdk/item-size.ts";

export type Item = Readonly<Record<string, AttributeValue>>;

/** The properties of an index on which its cost depends. */
export interface IndexModel {
  readonly name: string;
  readonly key: readonly string[];
  /** The projected attributes besides its keys and the table's; undefined: all. */
  readonly projected: readonly string[] | undefined;
}

export interface TableModel {
  readonly name: string;
  readonly key: readonly string[];
  readonly indexes: readonly IndexModel[];
}

export type Consistency = "eventual" | "strong" | "transactional";

const readFactors: Readonly<Record<Consistency, number>> = {
  eventual: 0.5,
  strong: 1,
  transactional: 2,
};

/** Units for writing one item of this size outside a transaction. */
export const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1_024));

/** Units for one read of this many bytes. A missing item costs as much as the smallest one. */
export const readUnits = (bytes: number, consistency: Consistency): number =>
  Math.max(1, Math.ceil(bytes / 4_096)) * readFactors[consistency];

/** Units for putting, replacing or deleting one item in the table: the larger size counts. */
export const itemWriteUnits = (before: Item | undefined, after: Item | undefined): number =>
  writeUnits(Math.max(before ? itemSize(before) : 0, after ? itemSize(after) : 0));

/** Units of one index for the change of an item: only changes of its entry count. */
export function indexWriteUnits(
  table: TableModel,
  index: IndexModel,
  before: Item | undefined,
  after: Item | undefined,
): number {
  const old = projection(table, index, before);
  const now = projection(table, index, after);
  if (!old && !now) return 0;
  if (!old || !now) return itemWriteUnits(old, now);
  if (!same(old, now, index.key)) return itemWriteUnits(old, undefined) + itemWriteUnits(now, now);
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return same(old, now, names) ? 0 : itemWriteUnits(old, now);
}

/** The entry of an item in an index; none while a key attribute of the index is missing. */
export function projection(table: TableModel, index: IndexModel, item?: Item): Item | undefined {
  if (!item || index.key.some((name) => item[name] === undefined)) return undefined;
  if (!index.projected) return item;
  const names = new Set([...table.key, ...index.key, ...index.projected]);
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name)));
}

const same = (a: Item, b: Item, names: readonly string[]): boolean =>
  names.every((name) => JSON.stringify(a[name]) === JSON.stringify(b[name]));

export function tableModel({ create: input }: TableDefinition): TableModel {
  const keyOf = (schema: CreateTableCommandInput["KeySchema"]) =>
    (schema ?? []).map(({ AttributeName }) => AttributeName ?? "");
  const { GlobalSecondaryIndexes = [], LocalSecondaryIndexes = [] } = input;
  const indexes = [...GlobalSecondaryIndexes, ...LocalSecondaryIndexes];
  return {
    name: input.TableName ?? "",
    key: keyOf(input.KeySchema),
    indexes: indexes.map((index) => ({
      name: index.IndexName ?? "",
      key: keyOf(index.KeySchema),
      projected:
        index.Projection?.ProjectionType === "ALL"
          ? undefined
          : (index.Projection?.NonKeyAttributes ?? []),
    })),
  };
}
