/** The item store of the commit engine, with the records of all features. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createItemStore } from "../platform/dynamodb/item-store.ts";
import type { Item } from "../platform/dynamodb/sdk/attributes.ts";
import type { TableName } from "../platform/dynamodb/tables.ts";
import type { ItemStore, Write } from "../platform/engine/item-store.ts";
import type { Kind, Records } from "../platform/ports/records.ts";
import { pack, packedItem, startPacking } from "../points/store/codecs/points.ts";
import { codecs, toItem } from "./codecs.ts";

/** The item that writes are packed into. */
export function itemOf([first, ...further]: readonly Write[]): Item {
  const { ref, value, next } = first as Write;
  return packedItem(toItem(ref, value as Records[Kind], next), further);
}

/** Reads and writes by `client`, which may be one that retries or one that sends once. */
export const createDynamoItemStore = (client: DynamoDBClient, tableName: TableName): ItemStore =>
  createItemStore(client, tableName, { codecs, countItems: startPacking, pack, itemOf });
