/** Opens the store in memory and the one in DynamoDB, for what is tested on both. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, inject } from "vitest";
import type { SheetStore } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import { createDynamoSheetStore } from "../../../src/bulk-grants/store/sheet-store.ts";
import type { Purger } from "../../../src/feed/ports/reactions.ts";
import { createDynamoPurger } from "../../../src/feed/store/purger.ts";
import type { Reader } from "../../../src/hub/deps.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { type Clients, createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { type TableName, tableName } from "../../../src/platform/dynamodb/tables.ts";
import type { ItemStore } from "../../../src/platform/engine/item-store.ts";
import type { RemoveSnapshot } from "../../../src/points/ports/points.ts";
import { createSnapshotRemover } from "../../../src/points/store/ledger-items.ts";
import { createDynamoItemStore } from "../../../src/store/item-store.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import { createTableScan } from "../../../src/store/scan.ts";
import type { TableScan } from "../../../src/store/scans.ts";
import { unpaced } from "../fixtures/unpaced.ts";
import { deleteTables } from "./delete-tables.ts";
import { createMemoryStore } from "./memory-store.ts";

export interface OpenStore {
  readonly store: ItemStore;
  readonly reader: Reader;
  readonly purger: Purger;
  readonly removeSnapshot: RemoveSnapshot;
  readonly sheets: SheetStore;
  readonly scan: TableScan["scan"];
}

export function openMemory(): OpenStore {
  const { itemStore, reader, purger, removeSnapshot, sheets, scan } = createMemoryStore();
  return { store: itemStore, reader, purger, removeSnapshot, sheets, scan };
}

/** The stores by name. DynamoDB's tables exist during the tests of the file. */
export function bothStores() {
  const names: TableName = tableName(`stores-${randomUUID().slice(0, 8)}-`);
  let clients: Clients;

  beforeAll(async () => {
    clients = createClients({ endpoint: inject("dynamodbEndpoint"), region: "ap-northeast-1" });
    await createTables(clients.retrying, localTableDefinitions(names));
  });

  afterAll(async () => {
    await deleteTables(clients.retrying, names);
    clients.close();
  });

  const openDynamo = (): OpenStore => ({
    store: createDynamoItemStore(clients.single, names),
    reader: createDynamoReader(clients, names),
    purger: createDynamoPurger(clients, names, unpaced),
    removeSnapshot: createSnapshotRemover(clients.retrying, names("points")),
    sheets: createDynamoSheetStore(clients, names),
    ...createTableScan(clients.retrying, names),
  });
  const stores = [
    ["memory", openMemory],
    ["DynamoDB", openDynamo],
  ] as const;
  return { stores, openDynamo, names, client: () => clients.retrying };
}
