/** Opens the store in memory and the one in DynamoDB, for what is tested on both. */
import type { SheetStore } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import { createDynamoSheetStore } from "../../../src/bulk-grants/store/sheet-store.ts";
import type { Purger } from "../../../src/feed/ports/reactions.ts";
import { createDynamoPurger } from "../../../src/feed/store/purger.ts";
import type { Reader } from "../../../src/hub/deps.ts";
import type { ItemStore } from "../../../src/platform/engine/item-store.ts";
import type { RemoveSnapshot } from "../../../src/points/ports/points.ts";
import { createSnapshotRemover } from "../../../src/points/store/ledger-items.ts";
import { createDynamoItemStore } from "../../../src/store/item-store.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import { createTableScan } from "../../../src/store/scan.ts";
import type { TableScan } from "../../../src/store/scans.ts";
import { unpaced } from "../fixtures/unpaced.ts";
import { createMemoryStore } from "./memory-store.ts";
import { ownTables } from "./own-tables.ts";

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
  const { names, clients } = ownTables("stores");
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
