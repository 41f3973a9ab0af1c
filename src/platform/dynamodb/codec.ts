/** The interface of the codecs between records and items, and the shards of indexes. */

import type { AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Loaded } from "../engine/item-store.ts";
import type { Kind, Records, Ref } from "../ports/records.ts";
import type { DomainError } from "../words/errors.ts";
import { type Item, N, num } from "./sdk/attributes.ts";
import type { Table } from "./tables.ts";

/** How records of one kind are stored. docs/change/keys.md lists the attributes. */
export interface Codec<K extends Kind> {
  readonly table: Table;
  /**
   * Whether a transaction that only creates or deletes one such record may be a plain write, which
   * costs half of it. DynamoDB does not know a plain write again that arrives twice, however late:
   * that has to be harmless.
   */
  readonly plainWrites?: true;
  /** The primary key of the record. */
  key(id: string): Item;
  /** All attributes but key and version, in a new item. */
  encode(value: Records[K]): Item;
  decode(item: Item): Records[K];
  /** Reads a record that may share its item with others, which no key finds. */
  readonly read?: (client: DynamoDBClient, tableName: string, ref: Ref) => Promise<Loaded>;
  /** The error when the records of one hash key fill its partition, which a local index limits. */
  readonly full?: (id: string) => DomainError;
}

/** The codecs of all features. */
export type Codecs = { readonly [K in Kind]: Codec<K> };

/** The item of a record with its key and version. */
export function itemWith(codec: Codec<Kind>, id: string, value: Records[Kind], v: number): Item {
  const item = codec.encode(value as never);
  const { pk, sk } = codec.key(id);
  item.pk = pk as AttributeValue;
  if (sk) item.sk = sk;
  item.v = N(v);
  return item;
}

export const versionOf = (item: Item): number => num(item, "v");

/** The shard of an id: its FNV-1a hash, written here because stored items depend on it. */
export function shardOf(id: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(id)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % shards;
}
